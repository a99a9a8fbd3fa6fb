// Tenants in memory. Their weights and history are looked up elsewhere: see MemoryStore.
import { defaultTenantId, type Tenant, type Tier } from '../../src/domain/tenants/tenant.ts'
import { totalMax } from '../../src/ports/executions.ts'
import {
  type NewTenant,
  type TenantOutcome,
  type TenantPage,
  type Tenants,
  type TenantUsage,
  usageCountedMax,
  type WorkLimits,
} from '../../src/ports/tenants.ts'
import { firstTiers, unlimitedTier } from './first-tiers.ts'
import { countActive } from './jobs.ts'
import { compareText } from './sorted-set.ts'
import type { MemoryStore } from './store.ts'

export const undeleted = { deletedAt: null, purgeAt: null, purgeBegunAt: null, purgedAt: null } as const

export class MemoryTenants implements Tenants {
  readonly #store: MemoryStore
  /** Of MemoryTiers too. */
  readonly tiers = new Map<string, Tier>(firstTiers.map((tier) => [tier.tier, tier]))
  /** Of MemoryTenantEnds too. */
  readonly all = new Map<string, Tenant>()

  constructor(store: MemoryStore) {
    this.#store = store
    store.tierOf = (tenantId) => this.all.get(tenantId)?.tier ?? null
    const createdAt = store.now()
    this.all.set(defaultTenantId, {
      tenantId: defaultTenantId,
      name: 'default',
      tier: unlimitedTier,
      createdAt,
      ...undeleted,
    })
  }

  async create({ tenantId, name, tier }: NewTenant): Promise<TenantOutcome> {
    if (this.#isTaken(name, tenantId)) return 'name_taken'
    const known = this.tiers.get(tier)
    if (known === undefined) return 'unknown_tier'
    const tenant = { tenantId, name, tier: known, createdAt: this.#store.now(), ...undeleted }
    this.all.set(tenantId, tenant)
    return tenant
  }

  async get(tenantId: string): Promise<Tenant | null> {
    return this.all.get(tenantId) ?? null
  }

  tierOf(tenantId: string): Tier | undefined {
    return this.all.get(tenantId)?.tier
  }

  /** Oldest first. */
  onTier(name: string): Tenant[] {
    const all = this.all.values().filter(({ tier }) => tier.tier === name)
    return [...all].toSorted((a, b) => compareText(a.tenantId, b.tenantId))
  }

  putTier(tier: Tier): void {
    this.#store.tiersRevision += 1
    this.tiers.set(tier.tier, tier)
    for (const tenant of this.onTier(tier.tier)) this.all.set(tenant.tenantId, { ...tenant, tier })
  }

  async list({ before, limit, deleted = false }: Parameters<Tenants['list']>[0]): Promise<TenantPage> {
    const listed = this.all.values().filter(({ deletedAt, purgedAt }) => {
      return deleted ? deletedAt !== null && purgedAt === null : deletedAt === null
    })
    const all = [...listed].toSorted((a, b) => compareText(b.tenantId, a.tenantId))
    const behind = before === null ? all : all.filter(({ tenantId }) => tenantId < before)
    const total = Math.min(all.length, totalMax + 1)
    return { tenants: behind.slice(0, limit), more: behind.length > limit, total }
  }

  async countWithJobs(max: number): Promise<number> {
    const tenantIds = new Set<string>()
    for (const { tenantId } of this.#store.jobs.values()) {
      tenantIds.add(tenantId)
      if (tenantIds.size >= max) break
    }
    return Math.min(max, tenantIds.size)
  }

  async workLimits(tenantIds: readonly string[]): Promise<WorkLimits[]> {
    return tenantIds.flatMap((tenantId) => {
      const tier = this.all.get(tenantId)?.tier
      const { hostCallsPerSecond = null, concurrentExecutionsMax = null } = tier ?? {}
      if (hostCallsPerSecond === null && concurrentExecutionsMax === null) return []
      return [{ tenantId, hostCallsPerSecond, concurrentExecutionsMax }]
    })
  }

  async usage(tenantId: string, { activeJobsMax }: Pick<Tier, 'activeJobsMax'>): Promise<TenantUsage> {
    const used = countActive(this.#store, tenantId)
    const most = activeJobsMax === null ? usageCountedMax : used
    return { activeJobs: { total: Math.min(used, most), capped: used > most } }
  }

  async change(
    tenantId: string,
    changes: { name?: string; tier?: string },
  ): Promise<TenantOutcome | 'not_found'> {
    const tenant = this.all.get(tenantId)
    if (tenant === undefined || tenant.deletedAt !== null) return 'not_found'
    const { name = tenant.name } = changes
    if (this.#isTaken(name, tenantId)) return 'name_taken'
    const tier = changes.tier === undefined ? tenant.tier : this.tiers.get(changes.tier)
    if (tier === undefined) return 'unknown_tier'
    this.#store.tiersRevision += 1
    const changed = { ...tenant, name, tier }
    this.all.set(tenantId, changed)
    return changed
  }

  #isTaken(name: string, tenantId: string): boolean {
    return this.all.values().some((other) => {
      return other.name === name && other.tenantId !== tenantId && other.purgedAt === null
    })
  }
}
