// Parts of a job in a few words.
import { EXECUTOR_FACTS } from '@carillon/contract/executors/list.ts'
import type { Job } from '@carillon/contract/job.ts'
import type { Cell } from './table.ts'
import { writeDuration } from './times.ts'

export function writeSchedule({
  schedule,
  depends_on: parents,
}: Pick<Job, 'schedule' | 'depends_on'>): string {
  if (parents.length > 0) return `after ${parents.length} ${parents.length === 1 ? 'job' : 'jobs'}`
  if (schedule === null) return ''
  const { type, cron_expression: cron, interval, every_seconds: every, scheduled_time: time } = schedule
  const zone = schedule.timezone === undefined || schedule.timezone === 'UTC' ? '' : ` ${schedule.timezone}`
  if (type === 'CRON') return `${cron}${zone}`
  if (type === 'INTERVAL') return interval ?? `every ${writeDuration((every ?? 0) * 1_000)}`
  return type === 'ONE_TIME' ? `once ${time}` : 'at once'
}

export function writeTarget({ execution }: Pick<Job, 'execution'>): string {
  return EXECUTOR_FACTS[execution.type].textOf(execution)
}

export function writeRetries({ retry_policy: policy }: Pick<Job, 'retry_policy'>): string {
  const { max_retries: max, backoff, initial_delay_ms: first, max_delay_ms: longest } = policy
  if (max === 0) return 'none'
  return `${max}, ${backoff.toLowerCase()} from ${writeDuration(first)} to ${writeDuration(longest)}`
}

export function rateCell(rate: number | null, runs: number): Cell {
  if (rate === null) return 'none yet'
  const text = `${runs} ${runs === 1 ? 'run' : 'runs'}, ${(rate * 100).toFixed(rate === 1 ? 0 : 1)} % succeeded`
  return { text, tone: rate >= 0.99 ? 'good' : rate >= 0.9 ? 'warn' : 'bad' }
}
