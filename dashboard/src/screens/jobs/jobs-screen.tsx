// Jobs: when each runs, how it went, and the actions on one or on all that match.
import { JOB_STATUSES } from '@carillon/contract/constants.ts'
import type { Job } from '@carillon/contract/job.ts'
import { useNavigate } from '@tanstack/react-router'
import { useMemo, useState } from 'react'
import { useList } from '../../api/hooks.ts'
import { useMay } from '../../api/session.ts'
import { Button } from '../../components/button.tsx'
import { type Column, DataTable, TwoLines, wideColumn } from '../../components/data-table.tsx'
import { FilterBar, FilterText, StatusChips } from '../../components/filter-bar.tsx'
import { ExecutionLink, JobLink } from '../../components/links.tsx'
import { Menu } from '../../components/menu.tsx'
import { Empty, Page } from '../../components/page.tsx'
import { Status } from '../../components/status.tsx'
import { Time } from '../../components/time.tsx'
import { exampleJob } from '../../lib/example-job.ts'
import { useQueryOf } from '../../lib/filters.ts'
import { formatCount } from '../../lib/format.ts'
import { useKey } from '../../lib/keys.ts'
import { useLiveRefresh } from '../../live/hooks.ts'
import { BulkJobs } from './bulk-jobs.tsx'
import { canPause } from './can-pause.ts'
import { PauseDialog, ResumeDialog, RunListedDialog } from './job-dialogs.tsx'
import { useLastRuns } from './last-runs.ts'
import { Countdown, ScheduleText } from './schedule-cell.tsx'
import { Tags } from './tags.tsx'
import './jobs.css'

const filterNames = ['status', 'tag', 'q'] as const

export function JobsScreen() {
  const navigate = useNavigate()
  const mayWrite = useMay('write')
  const filter = useQueryOf(filterNames)
  const list = useList<Job>('/jobs', 'jobs', { query: filter })
  useLiveRefresh(['jobs', 'executions'], ['/jobs'], 10_000)
  const [asked, setAsked] = useState<{ action: 'run' | 'pause' | 'resume'; job: Job } | null>(null)
  const lastRuns = useLastRuns()
  const columns = useMemo(() => columnsOf(lastRuns, (action, job) => setAsked({ action, job })), [lastRuns])
  const create = () => void navigate({ to: '/jobs/new' })
  useKey('n', 'New job', create)
  const close = () => setAsked(null)
  const actions = (
    <>
      <BulkJobs filter={filter} />
      {mayWrite && (
        <Button kind="primary" icon="plus" onClick={create}>
          New job
        </Button>
      )}
    </>
  )
  const total = list.total === null ? '' : `${formatCount(list.total, list.totalCapped)} found`
  return (
    <Page title="Jobs" lead={total} actions={actions}>
      <FilterBar names={filterNames}>
        <FilterText name="q" label="Name, key or tag" isSearch />
        <FilterText name="tag" label="Tag" />
        <StatusChips statuses={JOB_STATUSES} />
      </FilterBar>
      <DataTable
        label="Jobs"
        rows={list.items}
        columns={columns}
        rowKey={(job) => job.job_id}
        list={list}
        empty={<NoJobs isFiltered={Object.keys(filter).length > 0} />}
      />
      {asked?.action === 'run' && <RunListedDialog job={asked.job} onClose={close} />}
      {asked?.action === 'pause' && <PauseDialog job={asked.job} onClose={close} />}
      {asked?.action === 'resume' && <ResumeDialog job={asked.job} onClose={close} />}
    </Page>
  )
}

type Ask = (action: 'run' | 'pause' | 'resume', job: Job) => void

function columnsOf(lastRuns: ReturnType<typeof useLastRuns>, ask: Ask): Column<Job>[] {
  return [
    { header: 'Job', width: 'minmax(9rem, 2.2fr)', cell: (job) => <NameCell job={job} /> },
    { header: 'Status', width: '7.4rem', cell: (job) => <Status status={job.status} /> },
    wideColumn('Runs', 'minmax(11rem, 2fr)', (job) => <ScheduleText job={job} />),
    wideColumn('Next run', '8.5rem', (job) => <Countdown at={job.schedule?.next_run_at ?? null} />),
    wideColumn('Last run', 'minmax(9rem, 1fr)', (job) => (
      <LastRunCell job={job} run={lastRuns.get(job.job_id)} />
    )),
    wideColumn('Tags', 'minmax(6rem, 1.2fr)', (job) => <Tags tags={job.tags} />),
    {
      header: '',
      name: 'Actions',
      width: '3.2rem',
      align: 'end',
      cell: (job) => <RowActions job={job} ask={ask} />,
    },
  ]
}

function NameCell({ job }: { job: Job }) {
  const schedule = (
    <span className="dim">
      <ScheduleText job={job} />
    </span>
  )
  return (
    <TwoLines below={schedule}>
      <JobLink id={job.job_id} isRow title={job.name}>
        {job.name}
      </JobLink>
    </TwoLines>
  )
}

function LastRunCell({ job, run }: { job: Job; run: { execution_id: string; status: string } | undefined }) {
  const at = job.schedule?.last_run_at ?? null
  if (run === undefined) return <Time at={at} />
  return (
    <ExecutionLink id={run.execution_id} className="last-run">
      <Status status={run.status} />
    </ExecutionLink>
  )
}

function RowActions({ job, ask }: { job: Job; ask: Ask }) {
  const may = useMay('operate')
  const mayWrite = useMay('write')
  const navigate = useNavigate()
  if (job.status === 'DELETED') return null
  const edit = () => void navigate({ to: '/jobs/$jobId/edit', params: { jobId: job.job_id } })
  const copy = () => void navigate({ to: '/jobs/new', search: { from: job.job_id } as never })
  const items = [
    may && { name: 'Run now …', run: () => ask('run', job) },
    may && job.status !== 'PAUSED' && canPause(job) && { name: 'Pause …', run: () => ask('pause', job) },
    may && job.status === 'PAUSED' && { name: 'Resume …', run: () => ask('resume', job) },
    mayWrite && { name: 'Edit', run: edit },
    mayWrite && { name: 'Duplicate', run: copy },
  ]
  return <Menu label="" icon="more" name={`Actions for ${job.name}`} items={items} />
}

function NoJobs({ isFiltered }: { isFiltered: boolean }) {
  if (isFiltered) return <Empty title="No job matches.">Take a filter away, or look for another word.</Empty>
  return (
    <Empty title="There is no job yet." code={exampleJob()}>
      Press "New job", or send one. This one calls the echo of this server every 10 seconds:
    </Empty>
  )
}
