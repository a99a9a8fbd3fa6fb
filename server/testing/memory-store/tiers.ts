// Tiers in memory.
import { type Tier, tiersMax } from '../../src/domain/tenants/tenant.ts'
import { type JobsBeyond, judgedJobsMax, type TenantMeasure, type Tiers } from '../../src/ports/tiers.ts'
import { countActive } from './jobs.ts'
import { compareText } from './sorted-set.ts'
import type { MemoryStore } from './store.ts'
import type { MemoryTenantRoom } from './tenant-room.ts'
import type { MemoryTenants } from './tenants.ts'

export class MemoryTiers implements Tiers {
  readonly #store: MemoryStore
  readonly #tenants: MemoryTenants
  readonly #room: MemoryTenantRoom

  constructor(
    store: MemoryStore,
    { tenants, tenantRoom }: { tenants: MemoryTenants; tenantRoom: MemoryTenantRoom },
  ) {
    this.#store = store
    this.#tenants = tenants
    this.#room = tenantRoom
  }

  async list(): Promise<Tier[]> {
    return [...this.#tenants.tiers.values()].toSorted((a, b) => compareText(a.tier, b.tier))
  }

  async get(name: string): Promise<Tier | null> {
    return this.#tenants.tiers.get(name) ?? null
  }

  async put(tier: Tier): Promise<'created' | 'changed' | 'too_many'> {
    const { tiers } = this.#tenants
    const isNew = !tiers.has(tier.tier)
    if (isNew && tiers.size >= tiersMax) return 'too_many'
    this.#tenants.putTier(structuredClone(tier))
    return isNew ? 'created' : 'changed'
  }

  async listTenants(name: string, limit: number): ReturnType<Tiers['listTenants']> {
    const present = this.#tenants.onTier(name).filter(({ deletedAt }) => deletedAt === null)
    const all = present.map(({ tenantId, name: tenant }) => ({ tenantId, name: tenant }))
    return { tenants: all.slice(0, limit), total: all.length }
  }

  async measure(tenantId: string, tier: Tier): Promise<TenantMeasure> {
    const jobs = [...this.#store.jobs.values()]
      .filter((job) => job.tenantId === tenantId && job.cursor.status !== 'DELETED')
      .toSorted((a, b) => compareText(b.jobId, a.jobId))
      .slice(0, judgedJobsMax)
      .map((job) => job.versions.get(job.version)!)
    const { timeoutSecondsMax, retriesMax, priorityBest, payloadBytesMax } = tier
    const timeouts = jobs.map(({ execution }) => execution.timeout_seconds)
    const payloads = jobs.map(({ execution }) => Buffer.byteLength(JSON.stringify(execution.payload) ?? ''))
    return {
      activeJobs: countActive(this.#store, tenantId),
      waitingExecutions: tier.waitingExecutionsMax === null ? 0 : await this.#room.countWaiting(tenantId),
      storageBytes: tier.storageBytesMax === null ? 0 : this.#room.measure(tenantId),
      timeoutSeconds: above(timeouts, timeoutSecondsMax ?? Number.POSITIVE_INFINITY),
      retries: above(
        jobs.map(({ retryPolicy }) => retryPolicy.max_retries),
        retriesMax,
      ),
      priority: below(
        jobs.map(({ priority }) => priority),
        priorityBest,
      ),
      payloadBytes: above(payloads, payloadBytesMax),
    }
  }
}

function above(values: readonly number[], limit: number): JobsBeyond | null {
  const found = values.filter((value) => value > limit)
  return found.length === 0 ? null : { jobs: found.length, furthest: Math.max(...found) }
}

function below(values: readonly number[], limit: number): JobsBeyond | null {
  const found = values.filter((value) => value < limit)
  return found.length === 0 ? null : { jobs: found.length, furthest: Math.min(...found) }
}
