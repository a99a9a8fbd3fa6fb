// When, of which job and of which worker. Job and worker come from links, so here they are only named and taken away.
import type { JobDetails } from '@carillon/contract/job.ts'
import { useGet } from '../../api/hooks.ts'
import { Select } from '../../components/field.tsx'
import { Icon } from '../../components/icon.tsx'
import { rangeOptions, useFilters } from '../../lib/filters.ts'
import { shortId } from '../../lib/format.ts'

export function TimeRange() {
  const [filters, change] = useFilters()
  const isOwn = filters['start_date'] !== undefined || filters['end_date'] !== undefined
  const chosen = isOwn ? 'own' : (filters['range'] ?? '')
  const today = new Date().toISOString().slice(0, 10)
  return (
    <>
      <Select
        aria-label="Due"
        value={chosen}
        options={[
          { value: '', name: 'Due: any time' },
          ...rangeOptions,
          { value: 'own', name: 'from day to day (UTC)' },
        ]}
        onText={(value) =>
          change(
            value === 'own'
              ? { range: undefined, start_date: today, end_date: today }
              : { range: value, start_date: undefined, end_date: undefined },
          )
        }
      />
      {isOwn && <DayFilters />}
    </>
  )
}

const days = { start_date: 'First day, UTC', end_date: 'Last day, UTC' }

export function DayFilters() {
  const [filters, change] = useFilters()
  return Object.entries(days).map(([name, label]) => (
    <input
      key={name}
      type="date"
      className="input"
      aria-label={label}
      title={label}
      value={filters[name]?.slice(0, 10) ?? ''}
      onChange={(event) => change({ [name]: event.target.value })}
    />
  ))
}

export function JobFilter() {
  const [filters, change] = useFilters()
  const jobId = filters['job_id']
  const found = useGet<JobDetails>(`/jobs/${encodeURIComponent(jobId ?? '')}`, {
    enabled: jobId !== undefined,
  })
  if (jobId === undefined) return null
  return (
    <button type="button" className="chip" aria-pressed="true" onClick={() => change({ job_id: undefined })}>
      Job: {found.data?.name ?? jobId} <Icon name="cross" />
      <span className="unseen">take away</span>
    </button>
  )
}

export function WorkerFilter() {
  const [filters, change] = useFilters()
  const workerId = filters['worker_id']
  if (workerId === undefined) return null
  return (
    <button
      type="button"
      className="chip"
      aria-pressed="true"
      title={workerId}
      onClick={() => change({ worker_id: undefined })}
    >
      Worker: {shortId(workerId)} <Icon name="cross" />
      <span className="unseen">take away</span>
    </button>
  )
}
