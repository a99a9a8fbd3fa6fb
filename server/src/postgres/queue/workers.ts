// Worker leases on PostgreSQL.
import {
  type Worker,
  type WorkerStatus,
  type WorkerView,
  workerLeaseMs,
  workersMax,
} from '../../domain/queue/worker.ts'
import type { Leases } from '../../ports/leases.ts'
import type { Workers } from '../../ports/workers.ts'
import { type Columns, fromColumns } from '../connection/columns.ts'
import type { Transactions } from '../connection/database.ts'
import { generation } from '../connection/generation.ts'
import * as statements from './workers.sql.ts'

export class PostgresWorkers implements Leases, Workers {
  readonly #database: Transactions

  constructor(database: Transactions) {
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
    return rows.map(fromColumns<WorkerView>)
  }

  async find(tenantId: string, workerId: string): Promise<WorkerView | null> {
    const values = [workerLeaseMs, tenantId, workerId]
    const { rows } = await this.#database.query<WorkerRow>(statements.selectWorker, values)
    return rows[0] === undefined ? null : fromColumns<WorkerView>(rows[0])
  }
}

type WorkerRow = Columns<WorkerView>
