// Why did it not run at 02:00? The fate of a slot, or of the slots around an instant without one, as one sentence.
import type { SlotReason, SlotStatus } from '@carillon/contract/slot.ts'
import type { EpochMs } from '../../lib/time/epoch.ts'
import { dayMs } from '../../lib/time/units.ts'
import type { ExecutionView } from '../../ports/executions.ts'
import { bufferMax, type JobView, type SkippingPause } from '../jobs/job.ts'
import { joinedMax, joinsCatchUp, misfiredMax } from '../scheduling/misfire.ts'
import type { Answer } from './why.ts'
import { againText, type RunAgain, skipText } from './why-graph.ts'
import {
  atText,
  byText,
  fateText,
  pastPauseText,
  pauseText,
  shorten,
  tookText,
  turnText,
} from './why-text.ts'

export interface SlotFate {
  slot: EpochMs
  status: SlotStatus
  reason: SlotReason | null
  executionId: string | null
}

export interface SlotFacts extends SlotFate {
  job: JobView
  /** When it fires or was to fire. */
  dueAt: EpochMs
  /** Null: it has none. */
  execution: ExecutionView | null
  /** The version of the job that skipped it; null: none did. */
  version: number | null
  /** For an overlap: the execution or run under way at the time, if known: `the execution …` or `the graph run …`. */
  blocker: string | null
  /** Of a misfire: the later slot that ran for it. */
  instead: EpochMs | null
  /** Of a slot that a pause skipped, which may be over: null if nothing is known of it. */
  pause: SkippingPause | null
  /** For an exclusion: the entry that excludes it, if known. */
  exclusion: string | null
  /** Of an execution of a run: how to go on, if it did not go well; null: it did, or there is no way. */
  again: RunAgain | null
}

export function whySlot(facts: SlotFacts): Answer {
  const { slot, status, reason, executionId, execution } = facts
  const said = execution === null ? whyWithout(facts) : whatRan(facts, execution)
  const text = said.replace(/\.$/, `${againText(facts.again)}.`)
  return { text, status, reason, slot, executionId }
}

/** There is none at that second. */
export function whyNoSlot(at: EpochMs, around: { before: SlotFate | null; after: SlotFate | null }): Answer {
  const { before, after } = around
  const was =
    before === null
      ? 'there is none within a year before it'
      : `the one before, ${atText(before.slot)}, ${fateText(before)}`
  const next =
    after === null ? 'there is none within a year after it' : `the one after is ${atText(after.slot)}`
  const text = `The job has no slot at ${atText(at)}: ${was}, and ${next}.`
  const executionId = before?.executionId ?? null
  return { text, status: 'NO_SLOT', reason: null, slot: before?.slot ?? null, executionId }
}

function whatRan({ job, slot }: SlotFacts, one: ExecutionView): string {
  const at = turnText({ kind: one.kind, slot })
  const id = `(execution ${one.executionId})`
  const started = one.startedAt === null ? '' : ` started at ${atText(one.startedAt)} and`
  const tries = one.attempt > 1 ? `, at attempt ${one.attempt},` : ''
  const error = one.error === null ? '' : ` with ${one.error.type}: ${shorten(one.error.message)}`
  const letter = one.deadLetter ? '; it is a dead letter' : ''
  switch (one.status) {
    case 'SUCCEEDED':
      return `It ran: ${at}${started}${tries} succeeded${tookText(one.durationMs)} ${id}.`
    case 'FAILED':
    case 'TIMED_OUT': {
      const how = one.status === 'FAILED' ? 'failed' : 'timed out'
      return `It ran and ${how}: ${at}${started}${tries} ${how}${tookText(one.durationMs)}${error} ${id}${letter}.`
    }
    case 'CANCELLED': {
      const when = one.finishedAt === null ? '' : ` at ${atText(one.finishedAt)}`
      const why = one.error === null ? '' : `: ${shorten(one.error.message).replace(/\.$/, '')}`
      return `It was cancelled: ${at} ended${when}${why} ${id}.`
    }
    case 'SKIPPED': {
      const why = one.skipped === null ? '' : `, because ${skipText(one.skipped.message)}`
      return `It was skipped: ${at} did not run${why} ${id}.`
    }
    case 'RETRYING': {
      const of = Math.max(one.attempt + 1, job.retryPolicy.max_retries + 1)
      const again = one.retryAt === null ? 'is ready' : `starts at ${atText(one.retryAt)}`
      return `It is retried: ${at} failed${error}; attempt ${one.attempt + 1} of ${of} ${again} ${id}.`
    }
    case 'RUNNING':
    case 'CANCELLING': {
      const how = one.status === 'RUNNING' ? 'It is running' : 'It is being cancelled'
      return `${how}: ${at} runs${one.startedAt === null ? '' : ` since ${atText(one.startedAt)}`} ${id}.`
    }
    default:
      return `It waits: ${at} has its execution since ${atText(one.enqueuedAt)} and has not started yet ${id}.`
  }
}

function whyWithout(facts: SlotFacts): string {
  const { job, slot, status, reason, dueAt, executionId } = facts
  const at = `the slot ${atText(slot)}`
  if (executionId !== null) return `The slot ${atText(slot)} ${fateText(facts)}.`
  if (status === 'SKIPPED') return `It was skipped: ${at} ${whySkipped(facts)}.`
  if (reason === 'owed')
    return `It is late and waits for its turn: ${at} is owed and runs in order behind others.`
  if (status === 'PENDING')
    return `It is due: ${at} has not been fired yet, because no scheduler has reached it.`
  if (reason === 'paused')
    return `It will be skipped unless the job is resumed before ${atText(slot)}: it ${pauseText(job)}.`
  if (reason === 'exclusion') return `It will be skipped: ${at} is excluded${named(facts.exclusion)}.`
  const jitter = dueAt === slot ? '' : `, the slot ${atText(slot)} with its jitter`
  return `Not due until ${atText(dueAt)}${jitter}.`
}

function whySkipped(facts: SlotFacts): string {
  const { job, reason, pause, exclusion } = facts
  switch (reason) {
    case 'overlap':
      return whyOverlap(facts)
    case 'misfire':
      return whyMisfire(facts)
    case 'paused':
      return isOfPresentPause(facts)
        ? `came while the job is paused: it ${pauseText(job)}`
        : `came while the job was paused${pastPauseText(pause)}`
    case 'edited':
      return 'had not fired yet when the schedule of the job was changed'
    case 'deleted':
      return job.status === 'DELETED'
        ? `had not fired yet when the job was deleted ${byText(job.updatedBy, job.updatedAt)}`
        : 'had not fired yet when the job was deleted'
    case 'exclusion':
      return `is excluded${named(exclusion)}`
    case 'quota':
      return 'came when its tenant had as many executions waiting as its tier allows (waiting_executions_max)'
    default:
      return 'has no execution'
  }
}

/** Whether the pause that the job is in skipped the slot, or will once it is resumed. */
function isOfPresentPause({ job, slot, pause }: SlotFacts): boolean {
  if (job.status !== 'PAUSED' || job.pause === null) return false
  return pause === null ? job.pause.since <= slot + pauseSlackMs : job.pause.since === pause.since
}

/** A slot that was due and not fired when the job was paused is skipped by the pause too. */
const pauseSlackMs = dayMs

function named(exclusion: string | null): string {
  return ` ${exclusion ?? 'by its schedule'}`
}

function whyOverlap({ job, version, blocker }: SlotFacts): string {
  // The policy of another version of the job is not known here.
  const policy = version === job.version ? ` (overlap_policy ${job.overlapPolicy}${joinText(job)})` : ''
  const under = blocker ?? 'an earlier execution of the job'
  if (version !== job.version || job.overlapPolicy === 'SKIP')
    return `came while ${under} was still under way${policy}`
  const full = job.overlapPolicy === 'BUFFER_ONE' ? 'a slot was' : `${numberText(bufferMax)} slots were`
  return `came when ${full} waiting already${policy}`
}

function numberText(number: number): string {
  return number.toLocaleString('en-US')
}

/** Of a job that also skips slots on time while it catches up, when too many of them came. */
function joinText(job: SlotFacts['job']): string {
  if (!joinsCatchUp(job)) return ''
  return `; under FIRE_ALL slots wait only while missed slots are caught up, and only the first ${numberText(joinedMax)}`
}

function whyMisfire({ job, version, instead }: SlotFacts): string {
  const missed = 'could not be fired in time, because no scheduler was running'
  if (instead !== null) return `${missed}; the latest missed slot, ${atText(instead)}, ran instead`
  if (version !== job.version) return missed
  if (job.misfirePolicy === 'SKIP') return `${missed}, and its misfire_policy is SKIP`
  if (job.misfirePolicy === 'FIRE_ONCE')
    return `${missed}; only the latest missed slot runs, if it is within the misfire window`
  const window = job.misfireWindowSeconds === null ? '' : ` of ${job.misfireWindowSeconds} s`
  return `${missed} again within the misfire window${window}, or there were more than the ${numberText(misfiredMax.FIRE_ALL)} latest, which FIRE_ALL runs`
}
