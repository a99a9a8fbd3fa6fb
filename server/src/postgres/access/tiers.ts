// Tiers on PostgreSQL.
import { type Tier, tiersMax } from '../../domain/tenants/tenant.ts'
import { type JobsBeyond, judgedJobsMax, type TenantMeasure, type Tiers } from '../../ports/tiers.ts'
import { type Columns, fromColumns } from '../connection/columns.ts'
import type { Transactions } from '../connection/database.ts'
import { selectActiveJobs } from '../jobs/active-jobs.sql.ts'
import { measureStorage, PostgresTenantRoom } from './tenant-room.ts'
import * as statements from './tiers.sql.ts'

export class PostgresTiers implements Tiers {
  readonly #database: Transactions

  constructor(database: Transactions) {
    this.#database = database
  }

  async list(): Promise<Tier[]> {
    const { rows } = await this.#database.query<Columns<Tier>>(statements.selectTiers, [tiersMax])
    return rows.map(fromColumns<Tier>)
  }

  async get(name: string): Promise<Tier | null> {
    const { rows } = await this.#database.query<Columns<Tier>>(statements.selectTier, [name])
    return rows[0] === undefined ? null : fromColumns<Tier>(rows[0])
  }

  async put(tier: Tier): Promise<'created' | 'changed' | 'too_many'> {
    const values = [
      tier.tier,
      tier.weight,
      tier.historyDays,
      tier.payloadBytesMax,
      tier.retriesMax,
      tier.intervalSecondsMin,
      tier.priorityBest,
      tier.deadLetters,
      tier.requestsPerSecond,
      tier.hostCallsPerSecond,
      tier.activeJobsMax,
      tier.timeoutSecondsMax,
      tier.executionsPerMinute,
      tier.concurrentExecutionsMax,
      tier.waitingExecutionsMax,
      tier.storageBytesMax,
    ]
    if ((await this.#database.query(statements.updateTier, values)).count > 0) return 'changed'
    const { count } = await this.#database.query(statements.insertTier, [...values, tiersMax])
    if (count > 0) return 'created'
    // Another request may have made it meanwhile.
    return (await this.#database.query(statements.updateTier, values)).count > 0 ? 'changed' : 'too_many'
  }

  async listTenants(name: string, limit: number): ReturnType<Tiers['listTenants']> {
    const { rows } = await this.#database.query<TenantRow>(statements.selectTenantsOfTier, [name, limit])
    const tenants = rows.map(({ tenant_id: tenantId, name: tenant }) => ({ tenantId, name: tenant }))
    return { tenants, total: rows[0]?.total ?? 0 }
  }

  async measure(tenantId: string, tier: Tier): Promise<TenantMeasure> {
    const counted = await this.#database.query<{ used: number }>(selectActiveJobs, [tenantId])
    const { timeoutSecondsMax, retriesMax, priorityBest, payloadBytesMax } = tier
    const values = [tenantId, judgedJobsMax, timeoutSecondsMax, retriesMax, priorityBest, payloadBytesMax]
    const { rows } = await this.#database.query<MeasureRow>(statements.measureJobs, values)
    const found = rows[0]!
    return {
      activeJobs: counted.rows[0]!.used,
      ...(await this.#measureRoom(tenantId, tier)),
      timeoutSeconds: beyond(found.timeout_jobs, found.timeout_seconds),
      retries: beyond(found.retries_jobs, found.retries),
      priority: beyond(found.priority_jobs, found.priority),
      payloadBytes: beyond(found.payload_jobs, found.payload_bytes),
    }
  }

  async #measureRoom(tenantId: string, { waitingExecutionsMax, storageBytesMax }: Tier) {
    const room = new PostgresTenantRoom(this.#database)
    const waitingExecutions =
      waitingExecutionsMax === null ? 0 : await room.countWaiting(tenantId, waitingExecutionsMax + 1)
    const storageBytes = storageBytesMax === null ? 0 : (await measureStorage(this.#database, tenantId)).total
    return { waitingExecutions, storageBytes }
  }
}

function beyond(jobs: number, furthest: number): JobsBeyond | null {
  return jobs === 0 ? null : { jobs, furthest }
}

interface TenantRow {
  tenant_id: string
  name: string
  total: number
}

interface MeasureRow {
  timeout_jobs: number
  timeout_seconds: number
  retries_jobs: number
  retries: number
  priority_jobs: number
  priority: number
  payload_jobs: number
  payload_bytes: number
}
