// Jobs, failing ones first: how each went last, when it runs next, and the actions on one or on all that match.
import type { Job, ListedJob } from '@carillon/contract/job.ts'
import { useNavigate } from '@tanstack/react-router'
import { useMemo, useState } from 'react'
import { useList } from '../../api/hooks.ts'
import { useMay } from '../../api/session.ts'
import { Button } from '../../components/button.tsx'
import { type Column, DataTable, TwoLines, wideColumn } from '../../components/data-table.tsx'
import { FilterBar, FilterText } from '../../components/filter-bar.tsx'
import { JobLink } from '../../components/links.tsx'
import { Menu } from '../../components/menu.tsx'
import { Empty, Page } from '../../components/page.tsx'
import { Status } from '../../components/status.tsx'
import { exampleJob } from '../../lib/example-job.ts'
import { useQueryOf } from '../../lib/filters.ts'
import { formatCount } from '../../lib/format.ts'
import { useKey } from '../../lib/keys.ts'
import { useHealthRefresh } from '../../live/hooks.ts'
import { BulkJobs } from './bulk-jobs.tsx'
import { canPause } from './can-pause.ts'
import { PauseDialog, ResumeDialog, RunListedDialog } from './job-dialogs.tsx'
import { JobTabs } from './job-tabs.tsx'
import { LastResult } from './last-result.tsx'
import { Countdown, ScheduleText } from './schedule-cell.tsx'
import { Tags } from './tags.tsx'
import './jobs.css'

const textNames = ['tag', 'q'] as const
const filterNames = ['health', 'status', ...textNames] as const

export function JobsScreen() {
  const navigate = useNavigate()
  const mayWrite = useMay('write')
  const texts = useQueryOf(textNames)
  const filter = useQueryOf(filterNames)
  const query = useMemo(() => ('health' in filter ? filter : { ...filter, sort: 'failing_first' }), [filter])
  const list = useList<ListedJob>('/jobs', 'jobs', { query })
  useHealthRefresh(['/jobs'])
  const [asked, setAsked] = useState<{ action: 'run' | 'pause' | 'resume'; job: Job } | null>(null)
  const columns = useMemo(() => columnsOf((action, job) => setAsked({ action, job })), [])
  const create = () => void navigate({ to: '/jobs/new' })
  useKey('n', 'New job', create)
  const close = () => setAsked(null)
  const actions = (
    <>
      {/* An operation takes no condition on the health of jobs. */}
      {!('health' in filter) && <BulkJobs filter={filter} />}
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
      <FilterBar names={textNames}>
        <FilterText name="q" label="Name, key or tag" isSearch />
        <FilterText name="tag" label="Tag" />
      </FilterBar>
      <JobTabs query={texts}>
        <DataTable
          label="Jobs"
          rows={list.items}
          columns={columns}
          rowKey={(job) => job.job_id}
          list={list}
          empty={<NoJobs filter={filter} />}
        />
      </JobTabs>
      {asked?.action === 'run' && <RunListedDialog job={asked.job} onClose={close} />}
      {asked?.action === 'pause' && <PauseDialog job={asked.job} onClose={close} />}
      {asked?.action === 'resume' && <ResumeDialog job={asked.job} onClose={close} />}
    </Page>
  )
}

type Ask = (action: 'run' | 'pause' | 'resume', job: Job) => void

function columnsOf(ask: Ask): Column<ListedJob>[] {
  return [
    { header: 'Job', width: 'minmax(9rem, 2fr)', cell: (job) => <NameCell job={job} /> },
    wideColumn('Last result', 'minmax(16rem, 2.1fr)', (job) => <LastResult job={job} />),
    wideColumn('Next run', '8.5rem', (job) => <Countdown at={job.schedule?.next_run_at ?? null} />),
    wideColumn('Schedule', 'minmax(9rem, 1.5fr)', (job) => <ScheduleText job={job} />),
    wideColumn('Tags', 'minmax(7rem, 1.3fr)', (job) => <Tags tags={job.tags} />),
    {
      header: '',
      name: 'Actions',
      width: '3.2rem',
      align: 'end',
      cell: (job) => <RowActions job={job} ask={ask} />,
    },
  ]
}

function NameCell({ job }: { job: ListedJob }) {
  return (
    <TwoLines below={<LastResult job={job} />}>
      <span>
        <JobLink id={job.job_id} isRow title={job.name}>
          {job.name}
        </JobLink>
        {job.status !== 'ACTIVE' && (
          <span className="job-status">
            <Status status={job.status} />
          </span>
        )}
      </span>
    </TwoLines>
  )
}

function RowActions({ job, ask }: { job: ListedJob; ask: Ask }) {
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

function NoJobs({ filter }: { filter: Record<string, string> }) {
  const { health, ...others } = filter
  if (health === 'FAILING' && Object.keys(others).length === 0) return <Empty title="No job is failing." />
  if (health !== undefined || Object.keys(others).length > 0)
    return <Empty title="No job matches.">Clear a filter, or search for another word.</Empty>
  return (
    <Empty title="There is no job yet." code={exampleJob()}>
      Press "New job", or send one. This one calls the echo of this server every 10 seconds:
    </Empty>
  )
}
