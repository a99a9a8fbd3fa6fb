// The executions that wait for the budget of their tenant, in the order in which they are let go: the counterpart of the
// index live_for_budget.
import { quotaHost } from '../../src/domain/tenants/execution-budget.ts'
import { byRank } from './claimable.ts'
import type { LiveRow } from './rows.ts'
import { compareText, SortedSet } from './sorted-set.ts'
import type { MemoryStore } from './store.ts'

export function isHeldBack({ state, host }: LiveRow): boolean {
  return state === 'ready' && host === quotaHost
}

/** The host of an execution that nobody has charged: it waits for a budget if its tenant has a limit. */
export function hostOfUncharged(store: Pick<MemoryStore, 'tierOf'>, tenantId: string): string | null {
  return (store.tierOf(tenantId)?.executionsPerMinute ?? null) === null ? null : quotaHost
}

export class HeldBack {
  readonly #byTenant = new Map<string, SortedSet<LiveRow>>()

  add(row: LiveRow): void {
    const held = this.#byTenant.get(row.tenantId) ?? new SortedSet<LiveRow>(byRank)
    held.add(row)
    this.#byTenant.set(row.tenantId, held)
  }

  delete(row: LiveRow): void {
    const held = this.#byTenant.get(row.tenantId)!
    held.delete(row)
    if (held.size === 0) this.#byTenant.delete(row.tenantId)
  }

  /** Tenants with at least one, by id. */
  tenants(): string[] {
    return [...this.#byTenant.keys()].toSorted(compareText)
  }

  has(tenantId: string): boolean {
    return this.#byTenant.has(tenantId)
  }

  /** By rank. */
  of(tenantId: string): LiveRow[] {
    return this.#byTenant.get(tenantId)?.take(Number.POSITIVE_INFINITY) ?? []
  }
}
