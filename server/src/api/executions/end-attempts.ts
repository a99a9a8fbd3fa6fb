// Ends attempts that are run outside our own workers: decides the consequences of their reports, writes them, emits the
// events, and wakes the processes that wait for them.
import { type AttemptEnd, type AttemptReport, endAttempt } from '../../domain/queue/attempt.ts'
import { dueAtOf } from '../../domain/schedule/jitter.ts'
import type { Attempts, HeldAttempt, ReportAnswer } from '../../ports/attempts.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Definition } from '../../ports/queue.ts'
import type { Random } from '../../ports/random.ts'
import type { Wakeup } from '../../ports/wakeup.ts'
import { attemptFinished, attemptRefused } from '../../telemetry/events.ts'
import type { DefinitionCache } from '../workers/definition-cache.ts'

export interface EndDeps {
  clock: Clock
  random: Random
  attempts: Pick<Attempts, 'report'>
  definitions: DefinitionCache
  wakeup: Wakeup
}

export interface EndOrder {
  held: HeldAttempt
  /** The worker that reports; null: the holder of the token. */
  workerId: string | null
  /** Null: it was not started, and is handed back. */
  word: AttemptReport | null
}

export interface EndedAttempts extends ReportAnswer {
  /** The ends of attempts that were not handed back, by execution. */
  ends: ReadonlyMap<string, AttemptEnd>
}

export async function endAttempts(deps: EndDeps, orders: readonly EndOrder[]): Promise<EndedAttempts> {
  if (orders.length === 0) return { refused: [], cancelled: [], ends: new Map() }
  const definitionOf = await deps.definitions.load(orders.map(({ held }) => held))
  const ends = new Map<string, AttemptEnd>()
  const reports = orders.map(({ held, workerId, word }) => {
    const { executionId, jobId, attempt, fence } = held
    const mark = { executionId, jobId, attempt, fence, workerId }
    if (word === null) return { ...mark, ending: { kind: 'unstarted' } as const }
    const end = decide(deps, { held, word, definition: definitionOf(held)! })
    ends.set(executionId, end)
    return { ...mark, ending: { kind: 'ended', end } as const }
  })
  const answer = await deps.attempts.report(reports)
  const refused = new Set(answer.refused)
  const cancelled = new Set(answer.cancelled)
  for (const { held, workerId } of orders) {
    const { executionId, attempt } = held
    const end = ends.get(executionId)
    if (refused.has(executionId)) attemptRefused.emit({ executionId, attempt, workerId: workerId ?? 'token' })
    else if (end !== undefined)
      emitAttemptFinished(held, cancelled.has(executionId) ? asCancelled(end) : end, definitionOf(held)!)
  }
  wakeOthers(deps.wakeup, orders, { ends, refused })
  return { ...answer, ends }
}

function decide(
  { clock, random }: EndDeps,
  { held, word, definition }: { held: HeldAttempt; word: AttemptReport; definition: Definition },
): AttemptEnd {
  const { attempt, losses, totalDeadline } = held
  const { retryPolicy } = definition
  const now = clock.databaseNow()
  return endAttempt(word, { attempt, losses, retryPolicy, totalDeadline, now, random: random.next() })
}

function asCancelled(end: AttemptEnd): AttemptEnd {
  return { ...end, outcome: 'cancelled', retryAt: null, deadReason: null }
}

function emitAttemptFinished(
  held: HeldAttempt,
  end: AttemptEnd,
  { jitterSeconds, execution }: Definition,
): void {
  const { executionId, attempt, kind, jobId, slot } = held
  const dueAt = kind === 'slot' ? dueAtOf({ jobId, jitterSeconds }, slot) : slot
  attemptFinished.emit({
    executionId,
    attempt,
    kind,
    executor: execution.type,
    outcome: end.outcome,
    retryAt: end.retryAt,
    deadReason: end.deadReason,
    delayMs: attempt === 1 && end.startedAt !== null ? Math.max(0, end.startedAt - dueAt) : null,
    endToEndMs: end.finishedAt - dueAt,
    durationMs: end.durationMs,
  })
}

function wakeOthers(
  wakeup: Wakeup,
  orders: readonly EndOrder[],
  { ends, refused }: { ends: ReadonlyMap<string, AttemptEnd>; refused: ReadonlySet<string> },
): void {
  const accepted = orders.filter(({ held }) => !refused.has(held.executionId))
  if (accepted.length === 0) return
  wakeup.send('waiting')
  if (accepted.some(({ held }) => (ends.get(held.executionId)?.retryAt ?? null) !== null))
    wakeup.send('retries')
  if (accepted.some(({ word }) => word === null)) wakeup.send('queue')
}
