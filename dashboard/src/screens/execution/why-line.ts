// Why an execution is where it is, in one sentence.
import type { Execution } from '@carillon/contract/execution.ts'
import { formatDuration, plural, shortId, words } from '../../lib/format.ts'
import { endedStatuses } from '../../live/told-execution.ts'

export function whyLine(execution: Execution, nowMs: number): string {
  const { status, attempt_number: attempt, error, worker_id: worker } = execution
  const since = (instant: string | null) =>
    formatDuration(nowMs - Date.parse(instant ?? execution.enqueued_at))
  const on = worker === null ? '' : ` on worker ${shortId(worker)}`
  switch (status) {
    case 'WAITING_DEPENDENCIES':
      return `It waits for ${plural(execution.parents.length, 'job')} that it runs after${unendedOf(execution)}.`
    case 'PENDING': {
      const waitMs = Date.parse(execution.enqueued_at) - nowMs
      if (waitMs > 1_000) return `It starts in ${formatDuration(waitMs)}.`
      return `It has been ready for ${since(execution.enqueued_at)} and waits for its turn.`
    }
    case 'RUNNING':
      return `Attempt ${attempt} has been running for ${since(execution.started_at)}${on}${progressOf(execution)}.`
    case 'RETRYING': {
      const waitMs = Date.parse(execution.retry_at ?? '') - nowMs
      const when = waitMs > 0 ? `starts in ${formatDuration(waitMs)}` : 'waits for its turn'
      return `Attempt ${attempt} failed${reasonOf(error)}; attempt ${attempt + 1} ${when}.`
    }
    case 'SUCCEEDED':
      return `It succeeded on attempt ${attempt} in ${formatDuration(execution.duration_ms)}${delayOf(execution)}.`
    case 'FAILED':
    case 'TIMED_OUT':
      return `${attempt === 1 ? 'Its only attempt' : `Attempt ${attempt}, the last one,`} ${words(status)}${reasonOf(error)}${
        execution.dead_letter ? '; it became a dead letter' : ''
      }.`
    case 'CANCELLING':
      return `It is being cancelled: its call${on} is told to stop, and has 30 s to do so.`
    case 'CANCELLED':
      return attempt === 0
        ? 'It was cancelled before it began.'
        : `It was cancelled after ${plural(attempt, 'attempt')}.`
    case 'SKIPPED':
      return execution.skipped?.message ?? 'It was skipped.'
  }
}

function reasonOf(error: Execution['error']): string {
  return error === null ? '' : `: ${error.message.replace(/\.$/, '')}`
}

function unendedOf({ parents }: Execution): string {
  const unended = parents.filter(({ status }) => !endedStatuses.includes(status)).length
  return unended === 0 ? '' : `, ${unended} of which ${unended === 1 ? 'has' : 'have'} not ended`
}

function progressOf({ progress }: Execution): string {
  if (progress === null) return ''
  const share = progress.fraction === null ? [] : [`${Math.round(progress.fraction * 100)} %`]
  const said = [...share, ...(progress.message === null ? [] : [progress.message])]
  return said.length === 0 ? '' : `: ${said.join(', ').replace(/\.$/, '')}`
}

// Of the first attempt: how long after its slot it began.
function delayOf(execution: Execution): string {
  const began = execution.attempts[0]?.started_at ?? execution.started_at
  if (began === null || execution.kind !== 'slot') return ''
  const lateMs = Date.parse(began) - Date.parse(execution.scheduled_time)
  return lateMs < 0 ? '' : `; it began ${formatDuration(lateMs)} after it was due`
}
