// The words of an answer: instants as on the wire, to the second, and texts of users cut short.
import type { SlotReason, WhyReason, WhyStatus } from '@carillon/contract/slot.ts'
import { type EpochMs, epochMs, toRfc3339 } from '../../lib/time/epoch.ts'
import { minuteMs } from '../../lib/time/units.ts'
import type { JobView, SkippingPause } from '../jobs/job.ts'
import type { ExecutionKind } from '../queue/execution.ts'

const textMax = 200

/** In UTC, YYYY-MM-DDTHH:MM:SSZ. */
export function atText(at: EpochMs): string {
  return toRfc3339(epochMs(Math.floor(at / 1_000) * 1_000))
}

export function byText(by: string, at: EpochMs): string {
  return `by ${by} at ${atText(at)}`
}

export function durationText(ms: number): string {
  if (ms < 1_000) return `${ms} ms`
  if (ms < minuteMs) return `${(ms / 1_000).toFixed(1)} s`
  const minutes = Math.floor(ms / minuteMs)
  if (minutes < 60) return `${minutes} min ${Math.floor((ms % minuteMs) / 1_000)} s`
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}

/** Text from a user or from the answer of a target: on one line, and no longer than a line or two. */
export function shorten(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').trim()
  return line.length <= textMax ? line : `${line.slice(0, textMax - 1)}…`
}

export function nameOf(one: { kind: ExecutionKind; slot: EpochMs; executionId: string }): string {
  return `${turnText(one)} (execution ${one.executionId})`
}

/** The reason an execution exists. */
export function turnText({ kind, slot }: { kind: ExecutionKind; slot: EpochMs }): string {
  if (kind === 'slot') return `the slot ${atText(slot)}`
  return kind === 'dependency'
    ? `its part of the graph run of ${atText(slot)}`
    : `the ${kind} of ${atText(slot)}`
}

/** A sentence as a part of another one. */
export function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1)
}

const words: Partial<Record<WhyStatus, string>> = {
  WAITING_DEPENDENCIES: 'waits for others of its graph run',
  SUCCEEDED: 'succeeded',
  FAILED: 'failed',
  TIMED_OUT: 'timed out',
  CANCELLED: 'was cancelled',
  CANCELLING: 'is being cancelled',
  RUNNING: 'is running',
  RETRYING: 'failed and is retried',
  PENDING: 'has not started yet',
  SKIPPED: 'was skipped',
  SCHEDULED: 'is still to come',
}

/** A few words on the fate of a slot. */
export function fateText(fate: {
  status: WhyStatus
  reason: WhyReason | SlotReason | null
  executionId: string | null
}): string {
  const word = words[fate.status] ?? fate.status
  if (fate.executionId !== null) return `${word} (execution ${fate.executionId})`
  return fate.reason === null ? word : `${word} (${fate.reason})`
}

/** `has been paused since …`, from the pause that the job still records. */
export function pauseText({ pause }: Pick<JobView, 'pause'>): string {
  if (pause === null) return 'is paused'
  const { since, by, reason, until } = pause
  const why = reason === null ? '' : ` ("${shorten(reason)}")`
  const end = until === null ? '' : `, until ${atText(until)}`
  return `has been paused since ${atText(since)} by ${by}${why}${end}`
}

/** ` by … at … ("…")`, of a pause that may be over. */
export function pastPauseText(pause: SkippingPause | null): string {
  if (pause === null) return ''
  const why = pause.reason === null ? '' : ` ("${shorten(pause.reason)}")`
  return ` ${byText(pause.by, pause.since)}${why}`
}

/** Of an execution that has ended. */
export function tookText(durationMs: number | null): string {
  return durationMs === null ? '' : ` after ${durationText(durationMs)}`
}
