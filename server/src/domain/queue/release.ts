// Decides which waiting executions of a job may go now: triggers and repeats behind a live execution, buffered slots,
// owed slots, executions that a limit holds back, and the next slot of a job that counts from the end of its last run.
// Pure: decided while the job is locked, from the facts that the store has then. The other half of an overlap rule, for a
// slot that comes due, is `judged` in postgres/scheduling/fire-slots.sql.ts; `bufferRoom` of jobs/job.ts bounds a buffer.
import { type EpochMs, toRfc3339 } from '../../lib/time/epoch.ts'
import type { ConcurrencyKey, JobVersion } from '../jobs/job.ts'
import type { SkippedRange } from '../jobs/job-change.ts'
import { isAfterCompletion, slotAfterEnd } from '../schedule/after-completion.ts'
import { compileStored } from '../schedule/compile-schedule.ts'
import type { Calendars } from '../schedule/exclusions.ts'
import { dueAtOf } from '../schedule/jitter.ts'
import { countSlots, excludedUntil, nextSlot, previousSlot } from '../schedule/next-run.ts'
import { joinsCatchUp } from '../scheduling/misfire.ts'
import type { ExecutionKind } from './execution.ts'

/** A job of which something waits, while it is locked. */
export interface WaitingJob
  extends Pick<
    JobVersion,
    | 'jobId'
    | 'tenantId'
    | 'version'
    | 'priority'
    | 'overlapPolicy'
    | 'misfirePolicy'
    | 'concurrencyLimit'
    | 'concurrencyKey'
    | 'schedule'
    | 'anchorAt'
    | 'jitterSeconds'
  > {
  now: EpochMs
  /** Nothing of it is let go: the store ends its waiting executions. */
  isDeleted: boolean
  /** The entries of the calendars that its exclusions name; null: it names none. */
  calendars: Calendars | null
  /** Executions that were let go and have not ended, in batches or alone. */
  underWay: number
  /** Executions and graph runs under way without a cancel request. */
  uncancelled: number
  /** The one backfill that all executions and graph runs under way belong to; null: they do not share one. */
  underWayOf: string | null
  /** The graph of which this job is a root; null: it is a root of none. */
  graphId: string | null
  /**
   * Of a root that does not allow overlaps: runs of its graph that were let go and have not ended; runs of waiting
   * executions do not count.
   */
  runsUnderWay: number
  /** The first slot of these runs, if slots started all of them; null: there is none, or one was started otherwise. */
  runsFrom: EpochMs | null
  /**
   * The first by rank and, among slots, the first by slot; at most `waitingMax` of each. While runs are under way also the
   * first by rank that is part of an open run.
   */
  waiting: readonly WaitingExecution[]
  /** Null: it does not catch up. An empty range: each owed slot has become an execution, and some are under way. */
  owed: OwedSlots | null
  /** The decided parts of the owed range: skips, and slots that ran, in order. */
  owedDecided: readonly { from: EpochMs; to: EpochMs }[]
  /** Of a job that awaits the end of its last execution before its next slot is known; `endedAt` null: not yet. */
  awaits: { endedAt: EpochMs | null } | null
}

export interface WaitingExecution {
  executionId: string
  kind: ExecutionKind
  /** It is part of a run that is under way already, and does not start one: see `isOfOpenRun`. */
  inRun: boolean
  slot: EpochMs
  rank: EpochMs
  /** The backfill it belongs to. */
  operationId: string | null
  /** The concurrency key it was made with. */
  concurrencyKey: ConcurrencyKey | null
}

/** Slots that wait for each other in order, from and to included. */
export interface OwedSlots {
  from: EpochMs
  to: EpochMs
  /** The least time between two of them. */
  paceMs: number
  /** When the next may go, by the pace. */
  nextAt: EpochMs
}

export interface ReleasePlan {
  /** Waiting executions that become claimable, in this order. */
  go: string[]
  owed: OwedPlan | null
  cancel: CancelPlan | null
  /** Of a job that awaited the end of an execution; `slotAt` null: no slot is left. */
  next: { slotAt: EpochMs | null; dueAt: EpochMs | null } | null
}

export interface OwedPlan {
  /** Slots that become executions: claimable, or waiting to be counted. */
  slots: readonly EpochMs[]
  state: 'ready' | 'waiting'
  skips: readonly SkippedRange[]
  /** The slots that are still owed after this plan; null: none. */
  left: OwedSlots | null
}

/** CANCEL_RUNNING: a newer slot has come. */
export interface CancelPlan {
  /** Older slots that wait too. */
  waiting: string[]
  /** Whether all that is under way is cancelled. */
  underWay: boolean
  /** The slot that they make way for. */
  bySlot: EpochMs
}

/** The error message of executions that CANCEL_RUNNING ends. */
export function supersededMessage(bySlot: EpochMs): string {
  return `Cancelled: the slot ${toRfc3339(bySlot)} came while it was under way.`
}

/** How many executions hold each concurrency key. `tryEnter` adds an execution that a plan lets go. */
export class KeyCounts {
  readonly #held: Map<string, number>

  /** By `nameOfKey`. */
  constructor(held: Iterable<readonly [string, number]> = []) {
    this.#held = new Map(held)
  }

  tryEnter(tenantId: string, { key, limit }: ConcurrencyKey): boolean {
    const name = nameOfKey(tenantId, key)
    const held = this.#held.get(name) ?? 0
    if (held >= limit) return false
    this.#held.set(name, held + 1)
    return true
  }
}

export function nameOfKey(tenantId: string, key: string): string {
  return `${tenantId} ${key}`
}

/** Waiting executions of a job that are looked at in one step. */
export const waitingMax = 100
const owedAtOnceMax = 100
const paceAtOnceMax = 10

export function planRelease(known: WaitingJob, keys: KeyCounts): ReleasePlan {
  const plan: ReleasePlan = { go: [], owed: null, cancel: null, next: planNext(known) }
  const isDraining = known.owed !== null && known.owed.from > known.owed.to
  const isIdle = known.underWay === 0 && known.runsUnderWay === 0
  if (isDraining && (isIdle || known.isDeleted))
    plan.owed = { slots: [], state: 'ready', skips: [], left: null }
  if (known.isDeleted) return plan
  // Nothing is owed any more: a slot or backfill that waits is behind no other.
  const job = isDraining ? { ...known, owed: null } : known
  if (job.overlapPolicy === 'ALLOW') letSeveralGo(job, keys, plan)
  else letOneGo(job, keys, plan)
  return plan
}

function letSeveralGo(job: WaitingJob, keys: KeyCounts, plan: ReleasePlan): void {
  let free = (job.concurrencyLimit ?? Number.POSITIVE_INFINITY) - job.underWay
  for (const one of inOrder(job.waiting)) {
    if (free <= 0) break
    if (one.concurrencyKey !== null && !keys.tryEnter(job.tenantId, one.concurrencyKey)) break
    plan.go.push(one.executionId)
    free -= 1
  }
  const isLimited = job.concurrencyLimit !== null || job.concurrencyKey !== null
  // An owed slot of a limited job is made when the executions before it have gone: an owed slot is not lost by waiting.
  const waits = job.waiting.length > plan.go.length
  if (isLimited && waits) return
  plan.owed ??= planOwed(job, isLimited ? 1 : owedAtOnceMax, isLimited ? 'waiting' : 'ready')
}

function letOneGo(job: WaitingJob, keys: KeyCounts, plan: ReleasePlan): void {
  const cancels = job.overlapPolicy === 'CANCEL_RUNNING'
  const waiting = cancels ? planCancel(job, plan) : job.waiting
  const ordered = cancels ? slotsFirst(waiting) : inOrder(waiting)
  // A backfill waits behind owed slots, and so hides nothing that goes before it.
  const first = ordered.find(({ kind }) => job.owed === null || kind !== 'backfill')
  const isFirst = first !== undefined && !isAfterOwed(first, job.owed)
  // Backfilled executions run beside others of their backfill: it makes no more than may run at once.
  const isOfSame = isFirst && first.operationId !== null && first.operationId === job.underWayOf
  const front = isFirst ? first : ({ kind: 'slot', inRun: false, slot: job.owed?.from ?? job.now } as const)
  const isHeld = isHeldBack(job, front) && !isOfSame
  // Behind an execution that a run holds back, one that is part of an open run may go, or one of an older slot.
  const mayPass = (one: WaitingExecution) => !isAfterOwed(one, job.owed) && !isHeldBack(job, one)
  const next = isHeld ? ordered.find(mayPass) : isFirst ? first : undefined
  if (next !== undefined) {
    if (next.concurrencyKey !== null && !keys.tryEnter(job.tenantId, next.concurrencyKey)) return
    plan.go.push(next.executionId)
    return
  }
  if (job.underWay > 0) return
  const isLimited = job.concurrencyKey !== null
  const owed = planOwed(job, 1, isLimited ? 'waiting' : 'ready')
  const isFree = (slot: EpochMs) => !isHeldBack(job, { kind: 'slot', inRun: false, slot })
  if (owed?.slots.every(isFree)) plan.owed = owed
}

/**
 * A run of the job holds back each execution that would start another run, or that runs alone. An execution that is
 * part of an open run waits only for executions of its job, which end on their own: it never waits for the end of a
 * run. Otherwise two runs could each wait for the end of the other, as after an edit that reversed their graph, or when
 * a resumed root waits for a concurrency key while a younger run overtakes it. Of runs that slots started, a younger one
 * waits for an older one and never the other way round: a slot that was still owed under ALLOW when later slots went
 * does not wait for their runs, should the policy be another one by then. Runs that were not started by a slot have one
 * root each, and wait for no other root.
 */
function isHeldBack(
  { underWay, runsUnderWay, runsFrom }: WaitingJob,
  { inRun, kind, slot }: Pick<WaitingExecution, 'inRun' | 'kind' | 'slot'>,
): boolean {
  if (underWay > 0) return true
  const isOlder = kind === 'slot' && runsFrom !== null && slot < runsFrom
  return runsUnderWay > 0 && !inRun && !isOlder
}

/** Whether an execution goes on with a run that is open: a job behind the roots, or a root that was resumed. */
export function isOfOpenRun({ kind, runId }: { kind: ExecutionKind; runId: string | null }): boolean {
  return kind === 'dependency' || (kind === 'retry' && runId !== null)
}

/** Triggers of people come before owed slots; a slot waits for older owed slots, a backfill for all of them. */
function isAfterOwed({ kind, slot }: WaitingExecution, owed: OwedSlots | null): boolean {
  if (owed === null) return false
  return kind === 'backfill' || (kind === 'slot' && slot > owed.from)
}

/** By rank, except that among themselves slots keep the order in which they came due. */
function inOrder(waiting: readonly WaitingExecution[]): WaitingExecution[] {
  const byRank = waiting.toSorted((a, b) => a.rank - b.rank || (a.executionId < b.executionId ? -1 : 1))
  const slots = byRank.filter(({ kind }) => kind === 'slot').toSorted((a, b) => a.slot - b.slot)
  let next = 0
  return byRank.map((one) => (one.kind === 'slot' ? slots[next++]! : one))
}

/**
 * A slot that others were cancelled for goes before a person's trigger: the trigger would be cancelled for it at once.
 */
function slotsFirst(waiting: readonly WaitingExecution[]): WaitingExecution[] {
  const ordered = inOrder(waiting)
  return [...ordered.filter(({ kind }) => kind === 'slot'), ...ordered.filter(({ kind }) => kind !== 'slot')]
}

/**
 * Of several slots only the latest stays. Owed slots run first, one after the other: if a slot that waits behind them
 * could cancel them, all of them would be cancelled; so then only slots in front of them are considered. Returns the
 * executions that still wait.
 */
function planCancel(
  { waiting, uncancelled, owed }: WaitingJob,
  plan: ReleasePlan,
): readonly WaitingExecution[] {
  const slots = waiting.filter((one) => one.kind === 'slot' && !isAfterOwed(one, owed))
  const [latest, ...older] = slots.toSorted((a, b) => b.slot - a.slot)
  const underWay = owed === null && uncancelled > 0
  if (latest === undefined || (older.length === 0 && !underWay)) return waiting
  const gone = new Set(older)
  plan.cancel = {
    waiting: older.map(({ executionId }) => executionId),
    underWay,
    bySlot: latest.slot,
  }
  return waiting.filter((one) => !gone.has(one))
}

/** The next slots that are owed, as many as may go now. */
function planOwed(job: WaitingJob, atOnce: number, state: OwedPlan['state']): OwedPlan | null {
  const { owed, now } = job
  if (owed === null) return null
  const { paceMs, nextAt } = owed
  if (paceMs > 0 && nextAt > now) return null
  const inPace = paceMs === 0 ? atOnce : Math.min(paceAtOnceMax, Math.floor((now - nextAt) / paceMs) + 1)
  const { slots, skips, from } = takeOwed(job, owed, Math.min(atOnce, inPace))
  const isJoined = joinsCatchUp(job) && !isAfterCompletion(job.schedule) && slots.length > 0
  // The last executions of a catch-up belong to it: an on-time slot that comes meanwhile is not skipped for them.
  const leftFrom = from ?? (isJoined ? ((owed.to + 1) as EpochMs) : null)
  const goesAt = (now + (slots.length === 0 ? 0 : paceMs)) as EpochMs
  const left = leftFrom === null ? null : { ...owed, from: leftFrom, nextAt: goesAt }
  return { slots, state, skips, left }
}

function takeOwed(job: WaitingJob, { from, to }: OwedSlots, count: number) {
  const slots: EpochMs[] = []
  const skips: SkippedRange[] = []
  const schedule = compileStored(job, job.calendars)
  // A schedule that cannot be read any more owes nothing.
  if (schedule === null) return { slots, skips, from: null }
  // The slots of an `after_completion` job follow no grid: it owes only the slot that it was about to run.
  if (isAfterCompletion(job.schedule)) return { slots: [from], skips, from: null }
  let at = from
  while (at <= to) {
    const slot = nextSlot(schedule, (at - 1) as EpochMs)
    // No slot is left in the range, as when the rules of the zone have changed: nothing more is owed.
    if (slot === null || slot > to) break
    const decided = job.owedDecided.find((part) => part.from <= slot && slot <= part.to)
    if (decided !== undefined) {
      at = (decided.to + 1) as EpochMs
      continue
    }
    const until = excludedUntil(schedule, slot)
    if (until !== null) {
      const nextDecidedFrom =
        job.owedDecided.find((part) => part.from > slot)?.from ?? Number.POSITIVE_INFINITY
      const end = Math.min(until, to + 1, nextDecidedFrom) as EpochMs
      const last = previousSlot(schedule, end)!
      const skipped = countSlots(schedule, { from: slot, to: end })
      skips.push({ from: slot, to: last, count: skipped, reason: 'exclusion', version: job.version })
      at = end
      continue
    }
    // The process that deferred the slot may have estimated the database's clock too far ahead: no slot goes before its
    // time.
    const isEarly = dueAtOf(job, slot) > job.now
    if (isEarly || slots.length === count) return { slots, skips, from: slot }
    slots.push(slot)
    at = (slot + 1) as EpochMs
  }
  return { slots, skips, from: null }
}

function planNext(job: WaitingJob): ReleasePlan['next'] {
  const endedAt = job.awaits?.endedAt ?? null
  if (endedAt === null) return null
  const slotAt = slotAfterEnd(job, endedAt)
  if (slotAt === null) return { slotAt: null, dueAt: null }
  return { slotAt, dueAt: dueAtOf(job, slotAt) }
}
