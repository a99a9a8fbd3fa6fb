// The outcomes of the slots that a job would have had before this server existed: attempts, retries, dead letters. The
// same for the same seed and the same slots.
import { isRetried, type RetryPolicy, retryDelayMs } from '../domain/queue/retry.ts'
import { hourMs } from '../lib/time/units.ts'
import type { PastAttempt, PastLetter } from '../postgres/history/demo-history.ts'
import type { Past, PastError } from './job-kit.ts'
import { type Draw, drawId, drawMs } from './random.ts'

/** Times at which every job that fails at all failed every time. */
const incidents = [
  { hoursAgo: 101, hours: 1.5 },
  { hoursAgo: 279, hours: 0.7 },
  { hoursAgo: 557, hours: 3 },
]

function isDuring({ hoursAgo, hours }: (typeof incidents)[number], agoMs: number): boolean {
  return agoMs <= hoursAgo * hourMs && agoMs > (hoursAgo - hours) * hourMs
}

export interface PastJob {
  jobId: string
  tenantId: string
  version: number
  name: string
  past: Past
  retryPolicy: RetryPolicy
}

export interface PastSlot {
  slot: number
  kind: PastAttempt['kind']
  /** When it could start; of a slot its own time. */
  readyAt: number
  runId: string | null
}

export interface PastOutcome {
  attempts: PastAttempt[]
  letter: PastLetter | null
  executionId: string
  finishedAt: number
}

/** Plays one execution. `now`: nothing in it is later than that. */
export function playSlot(
  draw: Draw,
  job: PastJob,
  { slot, kind, readyAt, runId }: PastSlot,
  now: number,
): PastOutcome {
  const { past, retryPolicy, jobId, tenantId, version } = job
  const { error } = past
  const executionId = drawId(draw, readyAt)
  const enqueuedAt = readyAt + Math.floor(draw() * 12)
  const isBroken = past.brokenHours !== undefined && slot > now - past.brokenHours * hourMs
  const isDown = past.failing !== undefined && incidents.some((one) => isDuring(one, now - slot))
  const dies = isBroken || isDown
  const retriesMax = error !== undefined && isRetriedError(error) ? retryPolicy.max_retries : 0
  const tries = 1 + (dies ? retriesMax : countFailures(draw, past, retriesMax))
  const attempts: PastAttempt[] = []
  let at = enqueuedAt + 2 + Math.floor(draw() * 30)
  for (let attempt = 1; attempt <= tries; attempt++) {
    const isLast = attempt === tries
    const fails = !isLast || dies
    const durationMs = fails ? failureMs(draw, past) : drawMs(draw, past.middleMs)
    const finishedAt = Math.min(at + durationMs, now - 1)
    attempts.push({
      ...{ jobId, tenantId, version, executionId, attempt, kind, slot, enqueuedAt, runId },
      final: isLast,
      startedAt: Math.min(at, finishedAt),
      finishedAt,
      ...(fails ? failureOf(draw, error!) : { outcome: 'succeeded', preview: past.answer ?? '{"ok":true}' }),
      deadLetter: isLast && dies,
    })
    at = finishedAt + retryDelayMs(retryPolicy, { attempt, random: draw(), retryAfterMs: null })
  }
  const last = attempts.at(-1)!
  return {
    attempts,
    // Dead letters of an incident were dealt with long ago.
    letter: isBroken ? letterOf(job, attempts) : null,
    executionId,
    finishedAt: last.finishedAt,
  }
}

function countFailures(draw: Draw, { failing = 0 }: Past, retriesMax: number): number {
  let failures = 0
  while (failures < retriesMax && draw() < failing) failures += 1
  return failures
}

function failureMs(draw: Draw, { error, middleMs }: Past): number {
  return error!.type === 'TIMEOUT' ? 1_001 : drawMs(draw, Math.min(middleMs, 900))
}

function failureOf(draw: Draw, error: PastError): Pick<PastAttempt, 'outcome'> & Partial<PastAttempt> {
  return {
    outcome: error.type === 'TIMEOUT' ? 'timed_out' : 'failed',
    errorType: error.type,
    errorMessage: error.message.replace('#', () => String(200 + Math.floor(draw() * 1_000))),
    ...(error.status !== undefined && { httpStatus: error.status }),
  }
}

function letterOf({ jobId, tenantId, name, past }: PastJob, attempts: readonly PastAttempt[]): PastLetter {
  const { executionId, slot, kind, finishedAt, runId } = attempts.at(-1)!
  return {
    ...{ executionId, tenantId, jobId, kind, slot, runId },
    jobName: name,
    reason: isRetriedError(past.error!) ? 'MAX_RETRIES_EXCEEDED' : 'NOT_RETRYABLE',
    diedAt: finishedAt,
    attempts: attempts.length,
    errors: attempts.map((one) => ({
      attempt: one.attempt,
      at: one.finishedAt,
      type: one.errorType,
      message: one.errorMessage,
      httpStatus: one.httpStatus ?? null,
    })),
  }
}

function isRetriedError({ type, status }: PastError): boolean {
  return isRetried(type, status ?? null)
}
