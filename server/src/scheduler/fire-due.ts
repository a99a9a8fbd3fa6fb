// Fires due jobs: takes them out of the due queue, fires their slots in one go, puts them back with their next slot.
// Whether a slot fires is the store's decision; this only proposes.
import { batchExecutionsMax, executionIdAt } from '../domain/queue/execution.ts'
import { type LaneChooser, sharedLane } from '../domain/queue/lane.ts'
import { dueAtOf } from '../domain/schedule/jitter.ts'
import { lookAheadMs } from '../domain/scheduling/look-ahead.ts'
import type { EpochMs } from '../lib/time/epoch.ts'
import type { Clock } from '../ports/clock.ts'
import type { DirectDispatch } from '../ports/direct-dispatch.ts'
import type { Ids } from '../ports/ids.ts'
import type { Claimed } from '../ports/queue.ts'
import type { FireAnswer, Slots, SlotToFire } from '../ports/slots.ts'
import { slotsFired } from '../telemetry/events.ts'
import type { SlotCharger } from './charge-slots.ts'
import type { DueQueue } from './due-queue.ts'
import type { Entry } from './entry.ts'
import type { LoadWindow } from './load-window.ts'
import type { OutageDetector } from './outage-detector.ts'
import { planSlots } from './plan-slots.ts'
import type { Plan } from './planned-slot.ts'

export interface FireDeps {
  clock: Clock
  ids: Ids
  slots: Slots
  dueQueue: DueQueue
  window: LoadWindow
  lanes: LaneChooser
  outages: OutageDetector
  charger: SlotCharger
  /** Since when slots of small tenants are being fired, on the monotonic clock; null: none are. */
  smallTenants: { firedSinceMs: number | null }
  /** Claims the executions of a small fire on insert; null: there is no worker in this process. */
  directDispatch: DirectDispatch | null
  /** Called after a commit that enqueued executions; `isShared`: some of them in the shared lane. */
  onEnqueued: (isShared: boolean) => void
  /** Called after a commit that left slots owed or buffered, or started a graph run. */
  onOwed: () => void
}

/** Jobs in one fire: at 1,000 the first calls wait longer, at 250 the round trips cost more than they bring. */
const fireMax = 500
/** Slots in one fire; the slots of its last job may exceed it. */
const slotsMax = 1_000
/** The longest the loop sleeps without looking. */
export const fireEveryMs = 1_000
/**
 * Concurrent fire loops, each with its own jobs out of the due queue: while one waits for its commit, or for
 * our process, the others go on ([m] 100,000 due at once: 2.2 to 2.7 s, and 3.1 to 3.8 s with two).
 */
export const firesAtOnce = 3
/** Maximum slots of a fire that the worker of this process claims on insert. A larger fire is claimed by all workers. */
const directSlotsMax = 50
/** A fire of small tenants with at most this many slots runs alone, for at most this long. */
const aloneSlotsMax = 50
const aloneMsMax = 50
const aloneLookMs = 2
/** When a job is tried again that others had locked, or that the database's clock called early. */
const busyMs = 50
const earlyMs = 1

export async function fireDue(deps: FireDeps, options: { misfireAfterMs: number }): Promise<'more' | number> {
  const { clock, dueQueue, outages } = deps
  const startedMs = clock.monotonicMs()
  const { smallTenants } = deps
  const { firedSinceMs } = smallTenants
  if (firedSinceMs !== null && startedMs - firedSinceMs < aloneMsMax) return aloneLookMs
  const now = clock.databaseNow()
  outages.begin(now)
  const { due, plans } = takePlans(deps, now, options.misfireAfterMs)
  if (due.length > 0) {
    const slots = assignBatches(deps, due, plans, now)
    const isAlone = dueQueue.tookSmallTenants && slots.length <= aloneSlotsMax
    if (isAlone) smallTenants.firedSinceMs = startedMs
    let charged: SlotToFire[]
    let answers: FireAnswer[]
    let claimed: number
    try {
      charged = deps.charger.mayCharge(due) ? await deps.charger.charge(due, slots) : []
      ;({ answers, claimed } = await fireSlots(deps, due, slots))
    } catch (error) {
      // Nothing is lost: a slot that did commit is answered 'already_recorded' next time.
      for (const entry of due) {
        entry.delayedByOutage = true
        dueQueue.putBack(entry)
      }
      throw error
    } finally {
      if (isAlone) smallTenants.firedSinceMs = null
    }
    settle(deps, { due, plans, slots, answers, claimed, now })
    const repeated = answers.filter(({ answer }) => answer === 'already_recorded').length
    const unfired = answers.filter(({ answer }) => answer !== 'buffered').length
    const tookMs = clock.monotonicMs() - startedMs
    await deps.charger.settle(due, charged, answers)
    slotsFired.emit({ slots: slots.length, unfired, taken: repeated, tookMs })
  }
  outages.end(clock.databaseNow())
  const next = dueQueue.nextDueAt()
  if (next === null) return fireEveryMs
  const waitMs = next - clock.databaseNow()
  return waitMs <= 0 ? 'more' : waitMs
}

/** The worker of this process claims the executions of a small fire on insert. `claimed`: their number. */
async function fireSlots(
  { slots: store, directDispatch }: FireDeps,
  due: readonly Entry[],
  slots: readonly SlotToFire[],
): Promise<{ answers: FireAnswer[]; claimed: number }> {
  const shared = slots.filter(({ lane, heldBack }) => lane === sharedLane && heldBack === undefined).length
  const isSmall = shared > 0 && slots.length <= directSlotsMax
  const reservation = isSmall ? (directDispatch?.reserve(shared, tenantsOf(due)) ?? null) : null
  if (reservation === null) return { answers: await store.fire(slots), claimed: 0 }
  // Null until the outcome of the transaction is known.
  let claimed: Claimed | null = null
  try {
    const { workerId, route } = reservation
    const { answers, batches } = await store.fireAndClaim(slots, { workerId, route })
    claimed = { batches, live: [] }
    return { answers, claimed: batches.reduce((sum, { positions }) => sum + positions.length, 0) }
  } finally {
    reservation.end(claimed)
  }
}

function tenantsOf(due: readonly Entry[]): string[] {
  return [...new Set(due.map(({ tenantId }) => tenantId))]
}

/** Takes due jobs out of the due queue and plans their slots. */
function takePlans({ dueQueue, window, outages }: FireDeps, now: EpochMs, misfireAfterMs: number) {
  const due: Entry[] = []
  const plans: Plan[] = []
  let slots = 0
  for (const entry of dueQueue.takeDue(now, fireMax)) {
    const { partitionId } = entry
    if (!window.has(partitionId)) continue
    // After an outage one job may have many slots: the other jobs wait for the next pass, which comes at once.
    if (slots >= slotsMax) {
      dueQueue.put(entry)
      continue
    }
    const staysInMemory = (dueAt: EpochMs) => isKept(window, partitionId, { dueAt, now })
    const plan = planSlots(entry, { now, misfireAfterMs, outageUpTo: outages.upTo, staysInMemory })
    due.push(entry)
    plans.push(plan)
    slots += plan.slots.length
  }
  return { due, plans }
}

/**
 * Whether a job that is due at `dueAt` stays in memory. Also where a herd keeps the window from reaching that far: the job
 * would be loaded behind the rest of the herd, which is due before it ([m] slots of a job that is due every second: 17 s late).
 */
function isKept(
  window: LoadWindow,
  partitionId: number,
  { dueAt, now }: { dueAt: EpochMs; now: EpochMs },
): boolean {
  if (!window.has(partitionId)) return false
  return dueAt <= now + lookAheadMs / 2 || window.covers(partitionId, dueAt)
}

/** All executions of a batch have the same route, lane and priority. */
function assignBatches(
  deps: FireDeps,
  due: readonly Entry[],
  plans: readonly Plan[],
  now: EpochMs,
): SlotToFire[] {
  const open = new Map<string, { batchId: string; size: number }>()
  const slots: SlotToFire[] = []
  plans.forEach((plan, index) => {
    const { tenantId } = due[index]!
    for (const planned of plan.slots) {
      const lane = deps.lanes.choose(tenantId, now)
      const key = `${planned.priority} ${lane} ${planned.route}`
      let batch = open.get(key)
      if (batch === undefined || batch.size === batchExecutionsMax) {
        batch = { batchId: deps.ids.nextBatch(), size: 0 }
        open.set(key, batch)
      }
      const executionId = executionIdAt(batch.batchId, batch.size++)
      slots.push({ ...planned, executionId, lane })
    }
  })
  return slots
}

interface Fire {
  due: readonly Entry[]
  plans: readonly Plan[]
  slots: readonly SlotToFire[]
  answers: readonly FireAnswer[]
  /** Executions that were claimed on insert: no worker need be woken for them. */
  claimed: number
  now: EpochMs
}

function settle(deps: FireDeps, { due, plans, slots, answers, claimed, now }: Fire): void {
  const { dueQueue, window } = deps
  // The last answer of a job is about its last slot, which carries the move of its cursor.
  const answered = new Map(answers.map(({ jobId, answer }) => [jobId, answer]))
  plans.forEach((plan, index) => {
    const entry = due[index]!
    const answer = answered.get(entry.jobId)
    if (answer === 'stale') return
    if (answer === 'busy' || answer === 'early') {
      // Early by more than a moment: our clock is wrong, and asking every millisecond does not correct it.
      const isAhead = now - dueAtOf(entry, entry.slot) > busyMs
      entry.dueAt = (now + (answer === 'early' && !isAhead ? earlyMs : busyMs)) as EpochMs
      entry.delayedByOutage = true
      dueQueue.putBack(entry)
      return
    }
    const { move, runs, slot } = plan.slots.at(-1)!
    if (isRecorded(answer)) entry.recordedAt = slot
    if (runs !== null && isCounted(answer)) {
      entry.runs += runs.count
      if (entry.runs >= runs.max) return
    }
    if (plan.next === null) return
    if (move !== null) entry.movedAt = now
    const nextDueAt = dueAtOf(entry, plan.next)
    // Decided again, not taken from the plan: while we fired, the window may have moved past the next slot, and the
    // load that moved it did not see the cursor that we were writing.
    if (move !== null && !isKept(window, entry.partitionId, { dueAt: nextDueAt, now })) return
    entry.slot = plan.next
    entry.dueAt = nextDueAt
    entry.delayedByOutage = false
    dueQueue.putBack(entry)
  })
  const waits = ({ answer }: FireAnswer) => answer === 'deferred' || answer === 'buffered'
  const isSome = answers.length < slots.length
  const startsRun = isSome && slots.some(({ runId }) => runId !== null)
  const isHeldBack = slots.some(({ heldBack }) => heldBack !== undefined)
  if (isHeldBack || startsRun || slots.some(({ owedTo }) => owedTo !== null) || answers.some(waits))
    deps.onOwed()
  if (answers.length + claimed < slots.length) deps.onEnqueued(slots.some(({ lane }) => lane === sharedLane))
}

/** Whether the slot has its row by this fire. An already recorded one may only be decided; a deferred one has none yet. */
function isRecorded(answer: FireAnswer['answer'] | undefined): boolean {
  return answer === undefined || !['already_recorded', 'deferred', 'busy', 'early', 'stale'].includes(answer)
}

/** Whether the slot runs, now or later, and so counts against `max_runs`. */
function isCounted(answer: FireAnswer['answer'] | undefined): boolean {
  return answer === undefined || answer === 'buffered' || answer === 'deferred'
}
