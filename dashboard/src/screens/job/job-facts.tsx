// All settings of a job, as facts.
import type { Field } from '@carillon/contract/executors/facts.ts'
import { type FieldName, type FieldValues, fieldsOf } from '@carillon/contract/executors/list.ts'
import type { JobDetails } from '@carillon/contract/job.ts'
import { JsonBlock } from '../../components/code-block.tsx'
import { Card, Facts } from '../../components/page.tsx'
import { InstantInText } from '../../components/sentence.tsx'
import { Time } from '../../components/time.tsx'
import { formatDuration, words } from '../../lib/format.ts'
import { ScheduleText } from '../jobs/schedule-cell.tsx'

export function JobFacts({ job }: { job: JobDetails }) {
  const { execution, schedule } = job
  return (
    <>
      <Card title="Target">
        <Facts facts={callFacts(job)} />
        {execution.payload !== undefined && <JsonBlock value={execution.payload} label="Payload" />}
      </Card>
      <Card title="Schedule">
        <Facts
          facts={{
            Runs: <ScheduleText job={job} />,
            Expression: schedule?.cron_expression ?? schedule?.interval,
            Zone: schedule === null ? undefined : (schedule.timezone ?? 'UTC'),
            Start: schedule?.start_at && <InstantInText at={schedule.start_at} />,
            End: schedule?.end_at && <InstantInText at={schedule.end_at} />,
            'Run limit': runsText(schedule),
            Exclusions: exclusionsText(schedule),
            'Skipped hour of a clock change': schedule?.dst_gap && words(schedule.dst_gap),
            'Repeated hour of a clock change': schedule?.dst_fold && words(schedule.dst_fold),
            Jitter: job.jitter_seconds === 0 ? 'none' : `up to ${seconds(job.jitter_seconds)}`,
            'If still running': words(job.overlap_policy),
            'After downtime': words(job.misfire_policy),
            'Catch up within': seconds(job.misfire_window_seconds) ?? 'an hour, or a day if daily',
          }}
        />
      </Card>
      <Card title="Retries and limits">
        <Facts facts={limitFacts(job)} />
      </Card>
      <Card title="About this job">
        <Facts
          facts={{
            'Job id': <code>{job.job_id}</code>,
            Key: job.key,
            Version: job.version,
            Created: <When at={job.created_at} by={job.created_by} />,
            Changed: <When at={job.updated_at} by={job.updated_by} />,
            Partition: job.partition_id,
          }}
          more={job.metadata}
        />
      </Card>
    </>
  )
}

function callFacts({ execution }: JobDetails) {
  const textOf = (value: FieldValues[FieldName] | undefined, field: Field): string | undefined => {
    if (value === undefined || typeof value === 'string') return value
    if (Array.isArray(value)) return value.join(field.shape === 'list' ? field.separator : '')
    const names = Object.keys(value)
    return names.length === 0 ? undefined : `${names.join(', ')} (values are not shown)`
  }
  const own = fieldsOf(execution.type).map(([name, field]) => [
    field.input.label,
    textOf(execution[name], field),
  ])
  return {
    By: execution.type,
    ...Object.fromEntries(own),
    'Timeout per attempt': seconds(execution.timeout_seconds),
    'Total timeout': seconds(execution.total_timeout_seconds),
    'Heartbeat timeout': seconds(execution.heartbeat_timeout_seconds),
  }
}

function limitFacts(job: JobDetails) {
  const { retry_policy: retry, concurrency_key: shared } = job
  return {
    Retries: retry.max_retries,
    Backoff: `${words(retry.backoff)}, from ${formatDuration(retry.initial_delay_ms)} up to ${formatDuration(retry.max_delay_ms)}`,
    'Auto-retry dead letters after': seconds(retry.auto_redrive_after_seconds),
    Priority: `${job.priority} (1 is the highest of 10)`,
    'Max concurrent runs':
      job.concurrency_limit === null ? 'no limit' : `${job.concurrency_limit} of this job`,
    'Concurrency group': shared && `${shared.limit} with key ${shared.key}`,
  }
}

function When({ at, by }: { at: string; by: string }) {
  return (
    <>
      <Time at={at} /> by {by}
    </>
  )
}

function runsText(schedule: JobDetails['schedule']): string | undefined {
  return schedule?.max_runs === undefined ? undefined : `${schedule.runs ?? 0} of ${schedule.max_runs}`
}

function exclusionsText(schedule: JobDetails['schedule']): string | undefined {
  if (schedule?.exclusions === undefined) return undefined
  return schedule.exclusions
    .map(
      ({ date, from, to, calendar }) =>
        date ?? (calendar === undefined ? `${from} to ${to}` : `calendar ${calendar}`),
    )
    .join(', ')
}

function seconds(value: number | null | undefined): string | undefined {
  return value === null || value === undefined ? undefined : formatDuration(value * 1_000)
}
