// Graphs of runs that were read lately: a run is stepped many times, and its graph stays the same meanwhile.
import { RecentMap } from '../../lib/recent-map.ts'
import type { Queries } from '../connection/database.ts'
import {
  type HeldRun,
  type IndexedGraph,
  type PlanRow,
  type RunRow,
  toHeldRun,
  toIndexedGraph,
} from './rows.ts'
import { selectPlans } from './run-steps.sql.ts'

/** Nodes of all that are kept: about 30 MB. */
const nodesMax = 100_000

export class GraphPlanCache {
  readonly #kept = new RecentMap<IndexedGraph>({
    weigh: ({ graph }) => graph.plan.nodes.length,
    weightMax: nodesMax,
  })

  /** Runs that are locked, and were not changed since. */
  async hold(queries: Queries, rows: readonly RunRow[]): Promise<HeldRun[]> {
    const found = new Map(rows.map((row) => [row.run_id, this.#kept.get(keyOf(row))]))
    const unknown = rows.filter((row) => found.get(row.run_id) === undefined)
    if (unknown.length > 0) {
      const values = [unknown.map((row) => row.run_id)]
      const plans = await queries.query<PlanRow>(selectPlans, values)
      for (const plan of plans.rows) found.set(plan.run_id, toIndexedGraph(plan))
    }
    for (const row of unknown) this.#kept.set(keyOf(row), found.get(row.run_id)!)
    this.#kept.prune()
    return rows.map((row) => toHeldRun(row, found.get(row.run_id)!))
  }
}

/**
 * It changes when the run is resumed, and when one of its roots fires or is known not to; and one that was forgotten and is
 * made anew, under the same id, is another.
 */
function keyOf({ run_id: runId, created_at: createdAt, resumes, states }: RunRow): string {
  return `${runId} ${createdAt} ${resumes} ${states.split('u').length}`
}
