// Watches the executions of tenants with a limit on executions a minute: when each was charged, which shows in the store
// as the moment from which it no longer waits for the budget, and the times in which something waited for it.
import type { EpochMs } from '../../src/lib/time/epoch.ts'
import type { LiveRow } from '../../testing/memory-store/rows.ts'
import type { MemoryStore } from '../../testing/memory-store/store.ts'
import { beforeCall } from './before-call.ts'

export interface Charged {
  tenantId: string
  at: EpochMs
}

/** All that time something of the tenant waited for the budget that was not to be skipped. */
export interface HeldStretch {
  tenantId: string
  from: EpochMs
  to: EpochMs
}

/** The host of executions that wait for the budget, as it is stored. */
const waitsForBudget = 'quota'
/** Long enough for a rate to show beside a burst, short enough to lie between two faults. */
const stretchMs = 90_000

export class BudgetWitness {
  /** By execution. */
  readonly chargedAt = new Map<string, Charged>()
  readonly stretches: HeldStretch[] = []
  readonly heldBack = new Set<string>()
  /** By tenant, since when something waits. */
  readonly #since = new Map<string, EpochMs>()
  readonly #store: MemoryStore
  readonly #say: (invariant: string, what: string) => void

  constructor(store: MemoryStore, say: (invariant: string, what: string) => void) {
    this.#store = store
    this.#say = say
    beforeCall(store, 'enqueue', (...[{ jobId, executionId }]: Parameters<MemoryStore['enqueue']>) => {
      this.#see({ executionId, tenantId: store.jobs.get(jobId)!.tenantId, host: null })
    })
    beforeCall(store, 'addLive', (row: LiveRow) => this.#see(row))
    beforeCall(store, 'changeLive', (row: LiveRow, changes: Partial<LiveRow>) => {
      this.#see({ ...row, ...changes })
    })
  }

  /** From time to time. */
  look(): void {
    const now = this.#store.now()
    const held = new Set<string>()
    for (const { tenantId, state, host, skipAt } of this.#store.live.values())
      if (state === 'ready' && host === waitsForBudget && (skipAt ?? now + 1) > now) held.add(tenantId)
    for (const tenantId of this.#since.keys()) if (!held.has(tenantId)) this.#since.delete(tenantId)
    for (const tenantId of held) {
      const from = this.#since.get(tenantId) ?? now
      if (now - from >= stretchMs) this.stretches.push({ tenantId, from, to: now })
      this.#since.set(tenantId, now - from >= stretchMs ? now : from)
    }
  }

  #see({ executionId, tenantId, host }: Pick<LiveRow, 'executionId' | 'tenantId' | 'host'>): void {
    if ((this.#store.tierOf(tenantId)?.executionsPerMinute ?? null) === null) return
    const wasCharged = this.chargedAt.has(executionId)
    if (host === waitsForBudget) this.heldBack.add(executionId)
    if (wasCharged && host === waitsForBudget)
      this.#say('I27', `${executionId} waits for the budget once more, and was charged`)
    if (!wasCharged && host !== waitsForBudget)
      this.chargedAt.set(executionId, { tenantId, at: this.#store.now() })
  }
}
