// Runs of graphs on PostgreSQL, as the API reads, stops and repeats them.
import { sharedLane } from '../../domain/queue/lane.ts'
import { lastId } from '../../lib/id.ts'
import type { Sql } from '../../lib/sql.ts'
import type {
  CancelRunOutcome,
  Graph,
  GraphRuns,
  ParentResult,
  ResumeOutcome,
  RunPage,
  RunQuery,
  RunTools,
  RunView,
} from '../../ports/graph-runs.ts'
import { parentResultsMax } from '../../ports/graph-runs.ts'
import { pageItemsBytesMax } from '../../ports/pages.ts'
import { withPartitions } from '../connection/daily-partitions.ts'
import type { Queries, Transactions } from '../connection/database.ts'
import { advanceRuns } from './advance-runs.ts'
import * as statements from './graph-runs.sql.ts'
import { childItem, nodeItem } from './items.ts'
import { resumeRun } from './resume-run.ts'
import { type PlanRow, type RunRow, toHeldRun, toIndexedGraph } from './rows.ts'
import { lockRun, lockRunToResume, selectPlans } from './run-steps.sql.ts'
import {
  type ListedRow,
  type NodeRow,
  type ParentRow,
  type RunViewRow,
  toParentResult,
  toRunSummary,
  toRunView,
} from './run-view.ts'
import { findGraphs } from './start-runs.ts'

/** Runs that one search looks at: about 20 ms, and about as much when the jobs of each are looked through. */
const searchedMax = 10_000
const searchedForJobMax = 2_000

export class PostgresGraphRuns implements GraphRuns {
  readonly #database: Transactions

  constructor(database: Transactions) {
    this.#database = database
  }

  async graphOf(tenantId: string, jobId: string): Promise<Graph | null> {
    const { count } = await this.#database.query(statements.selectOwnJob, [tenantId, jobId])
    if (count === 0) return null
    return (await findGraphs(this.#database, [jobId])).get(jobId) ?? null
  }

  async get(tenantId: string, runId: string): Promise<RunView | null> {
    const found = await this.#database.query<RunViewRow>(statements.selectRun, [tenantId, runId])
    const run = found.rows[0]
    if (run === undefined) return null
    const items = run.job_ids.map((jobId, nodeIndex) => {
      return { nodeIndex, jobId, executionId: run.execution_ids[nodeIndex]! }
    })
    const nodes = await this.#database.query<NodeRow>(statements.selectNodes, [
      nodeItem.encode(items),
      run.finished_at,
    ])
    return toRunView(run, nodes.rows)
  }

  async isStarting(tenantId: string, runId: string): Promise<boolean> {
    const { count } = await this.#database.query(statements.selectStarting, [tenantId, runId])
    return count > 0
  }

  async list(query: RunQuery): Promise<RunPage> {
    const { jobId } = query
    if (jobId === null) {
      const isFiltered = query.from !== null || query.to !== null
      return this.#walk(query, isFiltered ? searchedMax : query.limit + 1)
    }
    // Most jobs have few runs: these are sorted. If a job has many, some are soon met among all of the tenant's.
    const values = [...valuesOf(query, searchedMax + 1), query.status]
    const { rows } = await this.#database.query<ListedRow>(statements.listRunsOfJob, values)
    if (rows[0]!.seen > searchedMax) return this.#walk(query, searchedForJobMax)
    return toPage(rows, null)
  }

  async #walk(query: RunQuery, seenMax: number): Promise<RunPage> {
    const values = valuesOf(query, seenMax)
    const { rows } = await (query.status === null
      ? this.#database.query<ListedRow>(statements.listRuns, values)
      : this.#database.query<ListedRow>(statements.listRunsByStatus, [...values, query.status]))
    const { seen, seen_to } = rows[0]!
    return toPage(rows, seen === seenMax ? seen_to : null)
  }

  cancel({ tenantId, runId, message }: Parameters<GraphRuns['cancel']>[0]): Promise<CancelRunOutcome> {
    return withPartitions(this.#database, 'attempts', 'today', () =>
      this.#database.transaction(async (queries) => {
        let row = await lockOwn(queries, tenantId, runId)
        if (row === null) {
          // Its root was enqueued, and the run is not made yet: the step that makes it reads this.
          const { count } = await queries.query(statements.noteCancel, [tenantId, runId, message])
          if (count > 0) return { kind: 'cancelling', settled: [] }
          // It may have been made since we looked.
          row = await lockOwn(queries, tenantId, runId)
          if (row === null) return { kind: 'not_found' }
        }
        const { status } = row
        if (status === 'CANCELLED') return { kind: 'cancelled_before' }
        if (status === 'CANCELLING') return { kind: 'cancelling', settled: [] }
        if (status !== 'RUNNING') return { kind: 'finished', status }
        const run = await hold(queries, row)
        // Nothing of a cancelled run goes: no lane is asked for.
        const { over, settled } = await advanceRuns(queries, [run], {
          laneOf: () => sharedLane,
          cancelMessage: message,
        })
        return { kind: over.length > 0 ? 'cancelled' : 'cancelling', settled }
      }),
    )
  }

  resume(order: { tenantId: string; runId: string } & RunTools): Promise<ResumeOutcome> {
    const { tenantId, runId } = order
    return withPartitions(this.#database, 'attempts', 'today', () =>
      this.#database.transaction(async (queries) => {
        const row = await lockOwn(queries, tenantId, runId, lockRunToResume)
        if (row === null) return { kind: 'not_found' }
        return resumeRun(queries, row, await hold(queries, row), order)
      }),
    )
  }

  async parentsOf(executionIds: readonly string[], runId?: string): Promise<Map<string, ParentResult[]>> {
    const items = executionIds.map((executionId) => ({ executionId, runId: runId ?? null }))
    const values = [childItem.encode(items), parentResultsMax]
    const { rows } = await this.#database.query<ParentRow>(statements.selectParents, values)
    const found = Map.groupBy(rows, (row) => row.execution_id)
    return new Map(found.entries().map(([id, parents]) => [id, parents.map(toParentResult)]))
  }
}

async function lockOwn(
  queries: Queries,
  tenantId: string,
  runId: string,
  lock: Sql = lockRun,
): Promise<RunRow | null> {
  const { rows } = await queries.query<RunRow>(lock, [runId, tenantId])
  return rows[0] ?? null
}

async function hold(queries: Queries, row: RunRow) {
  const { rows } = await queries.query<PlanRow>(selectPlans, [[row.run_id]])
  return toHeldRun(row, toIndexedGraph(rows[0]!))
}

function valuesOf(query: RunQuery, seenMax: number): unknown[] {
  const { tenantId, before, from, to, limit, jobId, bytesMax = pageItemsBytesMax } = query
  return [tenantId, before ?? lastId, from, to, limit, seenMax, jobId, bytesMax]
}

/** `seenTo`: where a look that did not see all has ended. */
function toPage(rows: readonly ListedRow[], seenTo: string | null): RunPage {
  const found = rows.filter((row) => row.run_id !== null)
  const runs = found.map(toRunSummary)
  return { runs, next: rows[0]!.picked_count > found.length ? runs.at(-1)!.runId : seenTo }
}
