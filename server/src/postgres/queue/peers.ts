// The other workers like a worker, on PostgreSQL.
import { heldCountMax, type PeerLoad, peersMax, waitingCountMax } from '../../domain/queue/spread.ts'
import { workerBeatMs } from '../../domain/queue/worker.ts'
import type { Sql } from '../../lib/sql.ts'
import type { Peers, RunningOfTenant } from '../../ports/peers.ts'
import { type Columns, fromColumns } from '../connection/columns.ts'
import type { Database } from '../connection/database.ts'
import * as statements from './peers.sql.ts'

/** A worker that has not beaten for this long has missed a heartbeat. */
const silentMs = 2 * workerBeatMs
/** Awaited executions of a tenant are counted up to here: as many as the highest limit of a tier on running ones. */
const awaitedCountMax = 1_000_000

export class PostgresPeers implements Peers {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  find(workerId: string): Promise<string[]> {
    return this.#find(statements.selectPeers, workerId)
  }

  findCallers(workerId: string): Promise<string[]> {
    return this.#find(statements.selectCallers, workerId)
  }

  async #find(statement: Sql, workerId: string): Promise<string[]> {
    const values = [silentMs, workerId, peersMax]
    const { rows } = await this.#database.query<{ worker_id: string }>(statement, values)
    return rows.map((row) => row.worker_id)
  }

  async measure(workerIds: readonly string[], routes: readonly string[]): Promise<PeerLoad> {
    const values = [silentMs, workerIds, heldCountMax, routes, waitingCountMax]
    const { rows } = await this.#database.query<PeerLoad>(statements.measurePeers, values)
    return rows[0]!
  }

  async countRunning(tenantIds: readonly string[], workerIds: readonly string[]): Promise<RunningOfTenant[]> {
    if (tenantIds.length === 0) return []
    const values = [tenantIds, workerIds, workerIds[0] ?? null, awaitedCountMax]
    const { rows } = await this.#database.query<Columns<RunningOfTenant>>(statements.countRunning, values)
    return rows.map((row) => fromColumns<RunningOfTenant>(row))
  }
}
