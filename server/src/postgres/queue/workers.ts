// Worker leases on PostgreSQL, and the workers as people see them.
import {
  formerWorkersMax,
  shownMs,
  type Worker,
  type WorkerStatus,
  type WorkerView,
  workerLeaseMs,
  workersPerTenantMax,
} from '../../domain/queue/worker.ts'
import { longMs } from '../../domain/queue/worker-shares.ts'
import { firstId } from '../../lib/id.ts'
import type { Leases } from '../../ports/leases.ts'
import {
  type HeldOfTenant,
  type RegisteredWorker,
  type WorkerCounts,
  type WorkerQuery,
  type Workers,
  workersPerPage,
} from '../../ports/workers.ts'
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
    const { workerId, tenantId, host, port, version, labels, executors, handlers, capacity } = worker
    const values = [workerId, tenantId, host, port, version, labels, executors, handlers, capacity]
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
    const values = [workerId, 'LEFT', shownMs.LEFT, formerWorkersMax.LEFT]
    await this.#database.query(statements.deleteWorker, values)
  }

  async list(query: WorkerQuery): Promise<WorkerView[]> {
    const { tenantId, ours = false, status = null, after = null, limit = workersPerPage } = query
    const values = [workerLeaseMs, limit, after ?? firstId, status]
    const statement = ours ? statements.selectOwnWorkers : statements.selectAllWorkers
    const { rows } =
      tenantId === null
        ? await this.#database.query<Columns<WorkerView>>(statement, values)
        : await this.#database.query<Columns<WorkerView>>(statements.selectTenantWorkers, [
            ...values,
            tenantId,
          ])
    return rows.map(fromColumns<WorkerView>)
  }

  async find(tenantId: string, workerId: string): Promise<RegisteredWorker | null> {
    const values = [workerLeaseMs, tenantId, workerId]
    const { rows } = await this.#database.query<Columns<RegisteredWorker>>(statements.selectWorker, values)
    return rows[0] === undefined ? null : fromColumns<RegisteredWorker>(rows[0])
  }

  async count({ tenantId }: { tenantId: string | null }): Promise<WorkerCounts> {
    const { rows } =
      tenantId === null
        ? await this.#database.query<Columns<WorkerCounts>>(statements.countAllWorkers, [workerLeaseMs])
        : await this.#database.query<Columns<WorkerCounts>>(statements.countTenantWorkers, [
            workerLeaseMs,
            tenantId,
          ])
    return fromColumns<WorkerCounts>(rows[0]!)
  }

  async countRegistered(tenantId: string): Promise<number> {
    const values = [tenantId, workersPerTenantMax]
    const { rows } = await this.#database.query<{ workers: number }>(statements.countRegistered, values)
    return rows[0]!.workers
  }

  async countHeld(workerIds: readonly string[]): Promise<HeldOfTenant[]> {
    const { rows } = await this.#database.query<{
      worker_id: string
      tenant_id: string
      held: number
      long: number
    }>(statements.countHeldOfTenants, [workerIds, longMs])
    return rows.map((row) => ({
      workerId: row.worker_id,
      tenantId: row.tenant_id,
      held: row.held,
      long: row.long,
    }))
  }

  async prune(limit: number): Promise<number> {
    const { count } = await this.#database.query(statements.pruneFormerWorkers, [limit])
    return count
  }
}
