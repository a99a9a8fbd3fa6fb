// Worker leases on PostgreSQL.

import type { Executor } from '../../domain/jobs/job.ts'
import {
  type Worker,
  type WorkerStatus,
  type WorkerView,
  workerLeaseMs,
  workersMax,
} from '../../domain/queue/worker.ts'
import type { EpochMs } from '../../lib/time/epoch.ts'
import type { Leases } from '../../ports/leases.ts'
import type { Workers } from '../../ports/workers.ts'
import type { Database } from '../connection/database.ts'
import { generation } from '../connection/generation.ts'
import * as statements from './workers.sql.ts'

export class PostgresWorkers implements Leases, Workers {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async register(worker: Worker): Promise<void> {
    const { workerId, tenantId, host, version, labels, executors, handlers, capacity } = worker
    const values = [workerId, tenantId, host, version, labels, executors, handlers, capacity]
    await this.#database.query(statements.insertWorker, [...values, generation])
  }

  async beat(
    workerId: string,
    load: { status: WorkerStatus; currentLoad: number },
  ): Promise<'held' | 'lost'> {
    const { count } = await this.#database.query(statements.beatWorker, [
      workerId,
      load.status,
      load.currentLoad,
      generation,
    ])
    return count === 1 ? 'held' : 'lost'
  }

  async unregister(workerId: string): Promise<void> {
    await this.#database.query(statements.deleteWorker, [workerId])
  }

  async list({ tenantId }: { tenantId: string | null }): Promise<WorkerView[]> {
    const values = [workerLeaseMs, workersMax, tenantId]
    const { rows } = await this.#database.query<WorkerRow>(statements.selectWorkers, values)
    return rows.map(toView)
  }

  async find(tenantId: string, workerId: string): Promise<WorkerView | null> {
    const values = [workerLeaseMs, tenantId, workerId]
    const { rows } = await this.#database.query<WorkerRow>(statements.selectWorker, values)
    return rows[0] === undefined ? null : toView(rows[0])
  }
}

function toView(row: WorkerRow): WorkerView {
  return {
    workerId: row.worker_id,
    tenantId: row.tenant_id,
    host: row.host,
    version: row.version,
    labels: row.labels,
    executors: row.executors,
    handlers: row.handlers,
    capacity: row.capacity,
    currentLoad: row.current_load,
    status: row.status,
    registeredAt: row.registered_at,
    beatAt: row.beat_at,
  }
}

interface WorkerRow {
  worker_id: string
  tenant_id: string | null
  host: string
  version: string
  labels: string[]
  executors: Executor[]
  handlers: string[]
  capacity: number
  current_load: number
  status: WorkerStatus | 'DEAD'
  registered_at: EpochMs
  beat_at: EpochMs
}
