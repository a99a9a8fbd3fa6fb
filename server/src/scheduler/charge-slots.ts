// Judges the slots of tenants with a limit on executions, before they fire. While as many executions of a tenant wait as its
// tier allows, its slots are skipped. The others are charged to the executions a minute; a slot without budget becomes an
// execution all the same: it waits, and is let go at the tenant's rate. Tenants without a limit cost one look into a map
// for each job that is due, and no statement.
import { previousSlot } from '../domain/schedule/next-run.ts'
import type { BudgetOrder } from '../domain/tenants/execution-budget.ts'
import { WaitingEstimates } from '../domain/tenants/waiting-estimates.ts'
import { epochMs } from '../lib/time/epoch.ts'
import type { Clock } from '../ports/clock.ts'
import type { BudgetCharge, BudgetLimit, ExecutionBudgets } from '../ports/execution-budgets.ts'
import type { FireAnswer, SlotToFire } from '../ports/slots.ts'
import type { TenantRoom } from '../ports/tenant-room.ts'
import { budgetNotReturned } from '../telemetry/events.ts'
import type { Entry } from './entry.ts'

/** Tenants in one query. */
const tenantsMax = 1_000
/** A tenant that moves to another tier, or whose tier is changed, is charged by it this soon. */
export const refreshBudgetsEveryMs = 2_000
/** Programs of an older version change tiers without a word. */
const rememberedMsMax = 300_000
const rememberedMax = 100_000
/** A slot is skipped for good: for a count that is older than this another one is taken first. */
const skippingMsMin = 100

type Job = Pick<Entry, 'jobId' | 'tenantId' | 'windowMs' | 'schedule' | 'afterCompletion'>

export interface ChargerDeps {
  clock: Pick<Clock, 'monotonicMs'>
  executionBudgets: Pick<ExecutionBudgets, 'limits' | 'limitsRevision' | 'draw' | 'giveBack'>
  tenantRoom: Pick<TenantRoom, 'waitingRoom'>
}

export class SlotCharger {
  readonly #clock: ChargerDeps['clock']
  readonly #budgets: ChargerDeps['executionBudgets']
  readonly #room: ChargerDeps['tenantRoom']
  /** By tenant; null: it has no limit. */
  readonly #known = new Map<string, BudgetLimit | null>()
  readonly #waiting = new WaitingEstimates({ refusingMsMin: skippingMsMin })
  #limited = 0
  /** Of the limits that are known; null: not asked yet. */
  #revision: number | null = null
  #forgottenMs: number
  #forgets = 0

  constructor({ clock, executionBudgets, tenantRoom }: ChargerDeps) {
    this.#clock = clock
    this.#budgets = executionBudgets
    this.#room = tenantRoom
    this.#forgottenMs = clock.monotonicMs()
  }

  /** False: none of the tenants has a limit, and the fire need not wait. */
  mayCharge(due: readonly Job[]): boolean {
    return this.#limited > 0 || this.#missing(due).size > 0
  }

  /** Marks the slots of due jobs that are skipped, or held back without budget, and returns the ones that were charged. */
  async charge(due: readonly Job[], slots: readonly SlotToFire[]): Promise<SlotToFire[]> {
    // Again when a refresh has forgotten limits meanwhile: without a wait between the last look and their use.
    for (let missing = this.#missing(due); missing.size > 0; missing = this.#missing(due))
      await this.#fetch([...missing])
    if (this.#limited === 0) return []
    const jobs = byId(due)
    const limited = new Map<string, { limit: BudgetLimit; own: SlotToFire[] }>()
    for (const slot of slots) {
      const { tenantId } = jobs.get(slot.jobId)!
      const limit = this.#known.get(tenantId)!
      if (slot.skip !== null || limit === null) continue
      const found = limited.get(tenantId)
      if (found === undefined) limited.set(tenantId, { limit, own: [slot] })
      else found.own.push(slot)
    }
    if (limited.size === 0) return []
    for (const { own } of limited.values()) own.sort(byUrgency)
    await this.#skipBeyondRoom(jobs, limited)
    const paced = [...limited.values()].filter(({ limit }) => limit.executionsPerMinute !== null)
    const wanted = paced.map(({ own }) => own.filter(({ skip }) => skip === null))
    return this.#draw(jobs, wanted)
  }

  async #skipBeyondRoom(
    jobs: ReadonlyMap<string, Job>,
    limited: ReadonlyMap<string, { limit: BudgetLimit; own: readonly SlotToFire[] }>,
  ): Promise<void> {
    const nowMs = this.#clock.monotonicMs()
    const bounded = [...limited].filter(([, { limit }]) => limit.waitingExecutionsMax !== null)
    const old = bounded.flatMap(([tenantId, { own }]) =>
      this.#waiting.isOld(tenantId, own.length, nowMs) ? [tenantId] : [],
    )
    const counted = old.length === 0 ? null : await this.#room.waitingRoom(old)
    for (const tenantId of old)
      this.#waiting.note(tenantId, counted!.get(tenantId) ?? { waitingMax: null, waiting: 0 }, nowMs)
    for (const [tenantId, { own }] of bounded) {
      const room = this.#waiting.roomOf(tenantId)
      for (const slot of own.slice(room)) skip(slot, jobs.get(slot.jobId)!)
      this.#waiting.admit(tenantId, Math.min(room, own.length))
    }
  }

  /** The slots of each tenant, the most urgent first. */
  async #draw(
    jobs: ReadonlyMap<string, Job>,
    byTenant: readonly (readonly SlotToFire[])[],
  ): Promise<SlotToFire[]> {
    const some = byTenant.filter(({ length }) => length > 0)
    if (some.length === 0) return []
    const orders = some.map((own): BudgetOrder => {
      const { tenantId } = jobs.get(own[0]!.jobId)!
      return { tenantId, use: 'slot', count: own.length, whole: false }
    })
    const grants = await this.#budgets.draw(orders)
    return some.flatMap((own, index) => {
      const { granted } = grants[index]!
      for (const slot of own.slice(granted)) holdBack(slot, jobs.get(slot.jobId)!)
      return own.slice(0, granted)
    })
  }

  /** Returns the charges of slots that made no execution. An answer that was lost forfeits the charge. */
  async settle(
    due: readonly Job[],
    charged: readonly SlotToFire[],
    answers: readonly FireAnswer[],
  ): Promise<void> {
    if (charged.length === 0 || answers.length === 0) return
    const jobs = byId(due)
    const unmade = new Set(answers.filter(({ answer }) => answer !== 'buffered').map(nameOf))
    const counts = new Map<string, number>()
    for (const slot of charged) {
      if (!unmade.has(nameOf(slot))) continue
      const { tenantId } = jobs.get(slot.jobId)!
      counts.set(tenantId, (counts.get(tenantId) ?? 0) + 1)
    }
    const charges = [...counts].map(([tenantId, count]): BudgetCharge => ({ tenantId, count }))
    // The slots have fired: a failure here is not one of the fire, and costs the tenant this part of its budget.
    await this.#budgets.giveBack(charges).catch((error: unknown) => budgetNotReturned.emit({ error }))
  }

  /** Forgets the limits when one may have changed. When it fails, the known limits hold. */
  async refresh(): Promise<'idle'> {
    const revision = await this.#budgets.limitsRevision()
    const nowMs = this.#clock.monotonicMs()
    const isOld = nowMs - this.#forgottenMs >= rememberedMsMax || this.#known.size > rememberedMax
    // Also the first time: a fire has asked for limits before, and they may have changed since.
    if (isOld || revision !== this.#revision) {
      this.#known.clear()
      this.#limited = 0
      this.#forgottenMs = nowMs
      this.#forgets += 1
    }
    this.#revision = revision
    return 'idle'
  }

  #missing(due: readonly Job[]): ReadonlySet<string> {
    let missing: Set<string> | null = null
    for (const { tenantId } of due) {
      if (this.#known.has(tenantId)) continue
      missing ??= new Set()
      missing.add(tenantId)
    }
    return missing ?? nobody
  }

  /** An answer that was under way while the limits were forgotten may be an old one: it is not kept. */
  async #fetch(tenantIds: readonly string[]): Promise<void> {
    const forgets = this.#forgets
    for (let at = 0; at < tenantIds.length; at += tenantsMax) {
      const asked = tenantIds.slice(at, at + tenantsMax)
      const limits = new Map((await this.#budgets.limits(asked)).map((limit) => [limit.tenantId, limit]))
      if (forgets !== this.#forgets) return
      for (const tenantId of asked) this.#known.set(tenantId, limits.get(tenantId) ?? null)
    }
    this.#limited = this.#known.values().reduce((sum, limit) => sum + (limit === null ? 0 : 1), 0)
  }
}

const nobody: ReadonlySet<string> = new Set()

/** Among equals the order in which they came due. */
function byUrgency(a: SlotToFire, b: SlotToFire): number {
  return a.priority - b.priority || a.dueAt - b.dueAt
}

/** A late slot is never skipped for this, nor is one whose execution others wait for: of a graph, or of its own job. */
function skip(slot: SlotToFire, { schedule, afterCompletion }: Job): void {
  if (slot.late || slot.owedTo !== null || slot.runId !== null || afterCompletion !== null) return
  slot.skip = 'quota'
  // Neighbours that are skipped too are one range.
  slot.previousSlot = previousSlot(schedule, slot.slot)
  if (slot.runs !== null) slot.runs = { max: slot.runs.max, count: 0 }
}

/** A slot that starts a graph run waits as long as it takes: its nodes would be skipped with it. */
function holdBack(slot: SlotToFire, { windowMs }: Job): void {
  slot.ownRow = true
  slot.heldBack = { skipAt: slot.runId === null ? epochMs(slot.dueAt + windowMs) : null }
}

function byId(due: readonly Job[]): ReadonlyMap<string, Job> {
  return new Map(due.map((job) => [job.jobId, job]))
}

function nameOf({ jobId, slot }: { jobId: string; slot: number }): string {
  return `${jobId} ${slot}`
}
