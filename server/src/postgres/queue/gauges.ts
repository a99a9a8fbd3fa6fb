// Figures for metrics that only the database knows.
import type { Database } from '../connection/database.ts'
import * as statements from './gauges.sql.ts'

const BANDS = ['p1-p3', 'p4-p7', 'p8-p10'] as const

const overdueMs = 90_000

export class PostgresGauges {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  /** By band of priority: executions that wait, and for how many seconds the oldest has. */
  async queue(): Promise<Record<string, { depth: number; oldestSeconds: number }>> {
    const { rows } = await this.#database.query<DepthRow>(statements.selectQueueDepth, [])
    const bands = Object.fromEntries(BANDS.map((band) => [band, { depth: 0, oldestSeconds: 0 }]))
    for (const { band, depth, oldest_seconds: oldestSeconds } of rows) bands[band] = { depth, oldestSeconds }
    return bands
  }

  async overdueJobs(): Promise<number> {
    const { rows } = await this.#database.query<{ jobs: number }>(statements.countOverdue, [overdueMs])
    return rows[0]!.jobs
  }

  async unownedPartitions(): Promise<number> {
    const { rows } = await this.#database.query<{ partitions: number }>(statements.countUnowned, [])
    return rows[0]!.partitions
  }

  /** For how many seconds the oldest open transaction has been; of other users only if we may see them. */
  async oldestTransaction(): Promise<number> {
    const { rows } = await this.#database.query<{ seconds: number }>(statements.selectOldestTransaction, [])
    return rows[0]!.seconds
  }

  async historyBytes(): Promise<number> {
    const { rows } = await this.#database.query<{ bytes: number }>(statements.sumHistoryBytes, [])
    return rows[0]!.bytes
  }
}

interface DepthRow {
  band: string
  depth: number
  oldest_seconds: number
}
