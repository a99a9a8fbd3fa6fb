// Charges the slots of tenants with a limit on executions a minute, before they fire. A slot without budget becomes an
// execution all the same: it waits, and is let go at the tenant's rate. Tenants without a limit cost one look into a map for
// each job that is due, and no statement.
import type { BudgetOrder } from '../domain/tenants/execution-budget.ts'
import { epochMs } from '../lib/time/epoch.ts'
import type { Clock } from '../ports/clock.ts'
import type { BudgetCharge, ExecutionBudgets } from '../ports/execution-budgets.ts'
import type { FireAnswer, SlotToFire } from '../ports/slots.ts'
import { budgetNotReturned } from '../telemetry/events.ts'
import type { Entry } from './entry.ts'

/** Tenants in one query. */
const tenantsMax = 1_000
/** A tenant that moves to another tier, or whose tier is changed, is charged by it this soon. */
export const refreshBudgetsEveryMs = 2_000
/** Programs of an older version change tiers without a word. */
const rememberedMsMax = 300_000
const rememberedMax = 100_000

type Job = Pick<Entry, 'jobId' | 'tenantId' | 'windowMs'>

export interface ChargerDeps {
  clock: Pick<Clock, 'monotonicMs'>
  executionBudgets: Pick<ExecutionBudgets, 'limits' | 'limitsRevision' | 'draw' | 'giveBack'>
}

export class SlotCharger {
  readonly #clock: ChargerDeps['clock']
  readonly #budgets: ChargerDeps['executionBudgets']
  /** By tenant: whether it has a limit. */
  readonly #known = new Map<string, boolean>()
  #limited = 0
  /** Of the limits that are known; null: not asked yet. */
  #revision: number | null = null
  #forgottenMs: number

  constructor({ clock, executionBudgets }: ChargerDeps) {
    this.#clock = clock
    this.#budgets = executionBudgets
    this.#forgottenMs = clock.monotonicMs()
  }

  /** False: none of the tenants has a limit, and the fire need not wait. */
  mayCharge(due: readonly Job[]): boolean {
    return this.#limited > 0 || this.#missing(due).size > 0
  }

  /** Marks the slots of due jobs that get no budget as held back, and returns the ones that were charged. */
  async charge(due: readonly Job[], slots: readonly SlotToFire[]): Promise<SlotToFire[]> {
    // Again when a refresh has forgotten limits meanwhile: without a wait between the last look and their use.
    for (let missing = this.#missing(due); missing.size > 0; missing = this.#missing(due))
      await this.#fetch([...missing])
    if (this.#limited === 0) return []
    const jobs = byId(due)
    const byTenant = new Map<string, SlotToFire[]>()
    for (const slot of slots) {
      const { tenantId } = jobs.get(slot.jobId)!
      if (slot.skip !== null || this.#known.get(tenantId) !== true) continue
      const own = byTenant.get(tenantId)
      if (own === undefined) byTenant.set(tenantId, [slot])
      else own.push(slot)
    }
    if (byTenant.size === 0) return []
    const orders = [...byTenant].map(([tenantId, own]): BudgetOrder => {
      return { tenantId, use: 'slot', count: own.length, whole: false }
    })
    const grants = await this.#budgets.draw(orders)
    return [...byTenant.values()].flatMap((own, index) => {
      const { granted } = grants[index]!
      // The most urgent first; among equals the order in which they came due.
      const ordered = own.toSorted((a, b) => a.priority - b.priority || a.dueAt - b.dueAt)
      for (const slot of ordered.slice(granted)) holdBack(slot, jobs.get(slot.jobId)!)
      return ordered.slice(0, granted)
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
    if (isOld || (this.#revision !== null && revision !== this.#revision)) {
      this.#known.clear()
      this.#limited = 0
      this.#forgottenMs = nowMs
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

  async #fetch(tenantIds: readonly string[]): Promise<void> {
    for (let at = 0; at < tenantIds.length; at += tenantsMax) {
      const asked = tenantIds.slice(at, at + tenantsMax)
      const limited = new Set((await this.#budgets.limits(asked)).map(({ tenantId }) => tenantId))
      for (const tenantId of asked) this.#known.set(tenantId, limited.has(tenantId))
    }
    this.#limited = this.#known.values().reduce((sum, isLimited) => sum + (isLimited ? 1 : 0), 0)
  }
}

const nobody: ReadonlySet<string> = new Set()

/** A slot that starts a graph run waits as long as it takes: its nodes would be skipped with it. */
function holdBack(slot: SlotToFire, { windowMs }: Job): void {
  slot.ownRow = true
  slot.heldBack = { skipAt: slot.runId === null ? epochMs(slot.slot + windowMs) : null }
}

function byId(due: readonly Job[]): ReadonlyMap<string, Job> {
  return new Map(due.map((job) => [job.jobId, job]))
}

function nameOf({ jobId, slot }: { jobId: string; slot: number }): string {
  return `${jobId} ${slot}`
}
