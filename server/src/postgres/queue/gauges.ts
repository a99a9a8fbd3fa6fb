// Figures for metrics that only the database knows.
import { type Gauges, overdueJobMs, PRIORITY_BANDS, type PriorityBand } from '../../ports/gauges.ts'
import type { Database } from '../connection/database.ts'
import * as statements from './gauges.sql.ts'

export class PostgresGauges implements Gauges {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async queue(): ReturnType<Gauges['queue']> {
    const { rows } = await this.#database.query<DepthRow>(statements.selectQueueDepth, [])
    const empty = PRIORITY_BANDS.map((band) => [band, { depth: 0, oldestSeconds: 0 }])
    const bands: Awaited<ReturnType<Gauges['queue']>> = Object.fromEntries(empty)
    for (const { band, depth, oldest_seconds: oldestSeconds } of rows) bands[band] = { depth, oldestSeconds }
    return bands
  }

  async overdueJobs(): Promise<number> {
    const { rows } = await this.#database.query<{ jobs: number }>(statements.countOverdue, [overdueJobMs])
    return rows[0]!.jobs
  }

  async unownedPartitions(): Promise<number> {
    const { rows } = await this.#database.query<{ partitions: number }>(statements.countUnowned, [])
    return rows[0]!.partitions
  }

  async oldestTransaction(): Promise<number> {
    const { rows } = await this.#database.query<{ seconds: number }>(statements.selectOldestTransaction, [])
    return rows[0]!.seconds
  }

  async historyBytes(): Promise<number> {
    const { rows } = await this.#database.query<{ bytes: number }>(statements.sumHistoryBytes, [])
    return rows[0]!.bytes
  }

  async connections(): ReturnType<Gauges['connections']> {
    const { rows } = await this.#database.query<{ most: number; in_use: number }>(
      statements.countConnections,
      [],
    )
    const { most, in_use: inUse } = rows[0]!
    return { most, inUse }
  }
}

interface DepthRow {
  band: PriorityBand
  depth: number
  oldest_seconds: number
}
