// Worker leases on PostgreSQL.
import {
  type Worker,
  type WorkerStatus,
  type WorkerView,
  workerLeaseMs,
  workersMax,
} from '../domain/worker.ts'
import type { EpochMs } from '../lib/epoch.ts'
import type { Leases } from '../ports/leases.ts'
import type { Workers } from '../ports/workers.ts'
import type { Database } from './database.ts'
import * as statements from './workers.sql.ts'

export class StoredWorkers implements Leases, Workers {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async register(worker: Worker): Promise<void> {
    const { workerId, host, version, labels, capacity } = worker
    await this.#database.query(statements.insertWorker, [workerId, host, version, labels, capacity])
  }

  async beat(
    workerId: string,
    load: { status: WorkerStatus; currentLoad: number },
  ): Promise<'held' | 'lost'> {
    const { count } = await this.#database.query(statements.beatWorker, [
      workerId,
      load.status,
      load.currentLoad,
    ])
    return count === 1 ? 'held' : 'lost'
  }

  async unregister(workerId: string): Promise<void> {
    await this.#database.query(statements.deleteWorker, [workerId])
  }

  async list(): Promise<WorkerView[]> {
    const { rows } = await this.#database.query<WorkerRow>(statements.selectWorkers, [
      workerLeaseMs,
      workersMax,
    ])
    return rows.map((row) => ({
      workerId: row.worker_id,
      host: row.host,
      version: row.version,
      labels: row.labels,
      capacity: row.capacity,
      currentLoad: row.current_load,
      status: row.status,
      registeredAt: row.registered_at,
      beatAt: row.beat_at,
    }))
  }
}

interface WorkerRow {
  worker_id: string
  host: string
  version: string
  labels: string[]
  capacity: number
  current_load: number
  status: WorkerStatus | 'DEAD'
  registered_at: EpochMs
  beat_at: EpochMs
}
