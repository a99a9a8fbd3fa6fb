// Worker leases on PostgreSQL, and the workers as people see them.
import type { WantedRunner } from '../../domain/executors/kind.ts'
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
import { pageItemsBytesMax } from '../../ports/pages.ts'
import {
  type HeldOfTenant,
  ownRunnersMax,
  type RegisteredWorker,
  type Runners,
  type WorkerCounts,
  type WorkerPage,
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

  async register(worker: Worker, tenantMax = workersPerTenantMax): Promise<'registered' | 'too_many'> {
    const { workerId, tenantId, host, port, version, labels, executors, handlers, capacity } = worker
    const own = [host, port, version, labels, executors, handlers, capacity, generation]
    const values = [workerId, tenantId, ...own]
    if (tenantId === null) {
      await this.#database.query(statements.insertWorker, values)
      return 'registered'
    }
    return this.#database.transaction(async (queries) => {
      // A statement of its own: the count sees everything committed before we got the lock.
      const [, { count }] = await Promise.all([
        queries.query(statements.lockTenantWorkers, [tenantId]),
        queries.query(statements.insertTenantWorker, [...values, tenantMax], 'last'),
      ])
      return count > 0 ? 'registered' : 'too_many'
    })
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

  async page(query: WorkerQuery): Promise<WorkerPage> {
    const { tenantId, status = null, after = null, limit = workersPerPage } = query
    const values = [workerLeaseMs, limit, after ?? firstId, status, query.bytesMax ?? pageItemsBytesMax]
    const { rows } =
      tenantId === null
        ? await this.#database.query<ListedRow>(statements.selectAllWorkers, values)
        : await this.#database.query<ListedRow>(statements.selectTenantWorkers, [...values, tenantId])
    return {
      workers: rows.map(({ picked_count: _count, ...row }) => fromColumns<WorkerView>(row)),
      more: (rows[0]?.picked_count ?? 0) > rows.length,
    }
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

  async runners(wanted: WantedRunner): Promise<Runners> {
    const values = [...valuesOf(wanted), ownRunnersMax]
    const { rows } = await this.#database.query<Columns<Runners>>(statements.selectRunners, values)
    return fromColumns<Runners>(rows[0]!)
  }

  async hasRunner(wanted: WantedRunner, { orShown = false } = {}): Promise<boolean> {
    const { count } = await this.#database.query(statements.findRunner, [...valuesOf(wanted), orShown])
    return count > 0
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

function valuesOf({ tenantId, executor, handler, labels }: WantedRunner): unknown[] {
  return [workerLeaseMs, tenantId, executor, handler, labels]
}

type ListedRow = Columns<WorkerView> & { picked_count: number }
