// Graphs of runs that were read lately: a run is stepped many times, and its graph stays the same meanwhile.
import type { Queries } from '../connection/database.ts'
import {
  type HeldRun,
  type PlacedGraph,
  type PlanRow,
  type RunRow,
  toHeldRun,
  toPlacedGraph,
} from './rows.ts'
import { selectPlans } from './run-steps.sql.ts'

/** Nodes of all that are kept: about 30 MB. */
const nodesMax = 100_000

export class GraphPlanCache {
  /** Those used last are at the end. */
  readonly #kept = new Map<string, PlacedGraph>()
  #nodes = 0

  /** Runs that are locked, and were not changed since. */
  async hold(queries: Queries, rows: readonly RunRow[]): Promise<HeldRun[]> {
    const found = new Map(rows.map((row) => [row.run_id, this.#take(keyOf(row))]))
    const unknown = rows.filter((row) => found.get(row.run_id) === null)
    if (unknown.length > 0) {
      const values = [unknown.map((row) => row.run_id)]
      const plans = await queries.query<PlanRow>(selectPlans, values)
      for (const plan of plans.rows) found.set(plan.run_id, toPlacedGraph(plan))
    }
    return rows.map((row) => {
      const placed = found.get(row.run_id)!
      this.#keep(keyOf(row), placed)
      return toHeldRun(row, placed)
    })
  }

  #take(key: string): PlacedGraph | null {
    const placed = this.#kept.get(key)
    if (placed === undefined) return null
    this.#kept.delete(key)
    this.#nodes -= sizeOf(placed)
    return placed
  }

  #keep(key: string, placed: PlacedGraph): void {
    this.#kept.set(key, placed)
    this.#nodes += sizeOf(placed)
    for (const [oldest, { graph }] of this.#kept) {
      if (this.#nodes <= nodesMax) break
      this.#kept.delete(oldest)
      this.#nodes -= graph.plan.nodes.length
    }
  }
}

function sizeOf({ graph }: PlacedGraph): number {
  return graph.plan.nodes.length
}

/**
 * It changes when the run is resumed, and when one of its roots fires or is known not to; and one that was forgotten and is
 * made anew, under the same id, is another.
 */
function keyOf({ run_id: runId, created_at: createdAt, resumes, states }: RunRow): string {
  return `${runId} ${createdAt} ${resumes} ${states.split('u').length}`
}
