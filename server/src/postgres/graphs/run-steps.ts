// Takes runs of graphs further, on PostgreSQL. Each is locked first; what was noted of it is read in statements that come
// after, so that nothing is missed. A step of hundreds of runs is as many statements as one of a single run.
import type { RunSteps, RunTools, Stepped } from '../../ports/graph-runs.ts'
import { withPartitions } from '../connection/daily-partitions.ts'
import type { Transactions } from '../connection/database.ts'
import { advanceRuns, noSteps } from './advance-runs.ts'
import { GraphPlanCache } from './plan-cache.ts'
import type { RunRow } from './rows.ts'
import * as statements from './run-steps.sql.ts'
import { StartMemory, startRuns } from './start-runs.ts'

const firstId = '00000000-0000-0000-0000-000000000000'
/** Nodes of the runs that one step looks at, unless a single run has more. */
const nodesMax = 20_000

export class PostgresRunSteps implements RunSteps {
  readonly #database: Transactions
  readonly #graphs = new GraphPlanCache()
  readonly #memory = new StartMemory()
  /** How far the runs with roots to come were looked through. */
  #unfiredAfter = firstId

  constructor(database: Transactions) {
    this.#database = database
  }

  async findNoted(limit: number, unfired: boolean, except: readonly string[] = []): Promise<string[]> {
    const { rows } = await this.#database.query<IdRow>(statements.selectNoted, [limit, except])
    const noted = rows.map((row) => row.run_id)
    if (!unfired || noted.length >= limit) return noted
    const open = await this.#findUnfired(limit - noted.length, except)
    return [...new Set([...noted, ...open])]
  }

  /** Round and round, so that no run hides others. */
  async #findUnfired(limit: number, except: readonly string[]): Promise<string[]> {
    const values = [limit, this.#unfiredAfter, except]
    const { rows } = await this.#database.query<IdRow>(statements.selectUnfired, values)
    this.#unfiredAfter = rows.length < limit ? firstId : rows.at(-1)!.run_id
    return rows.map((row) => row.run_id)
  }

  step(runIds: readonly string[], tools: RunTools): Promise<Stepped> {
    if (runIds.length === 0) return Promise.resolve(noSteps())
    return withPartitions(this.#database, 'attempts', 'today', () =>
      this.#database.transaction(async (queries) => {
        const { rows } = await queries.query<RunRow>(statements.lockRuns, [runIds])
        const locked = new Map(rows.map((row) => [row.run_id, row]))
        // In the order that was asked for: those that are first must not be left out again and again.
        const ordered = runIds.map((runId) => locked.get(runId)).filter((row) => row !== undefined)
        const held = takeAffordable(ordered)
        const known = await this.#graphs.hold(queries, held)
        const rest = runIds.filter((runId) => !locked.has(runId))
        const { made, left } = await startRuns(queries, rest, tools, this.#memory)
        const stepped = await advanceRuns(queries, [...known, ...made], { laneOf: tools.laneOf })
        return left || held.length < ordered.length ? { ...stepped, left: true } : stepped
      }),
    )
  }

  async prune(limit: number): Promise<number> {
    const { count } = await this.#database.query(statements.deleteOldRuns, [limit])
    return count
  }
}

/** As many as one step can read. */
function takeAffordable(rows: readonly RunRow[]): RunRow[] {
  let nodes = 0
  return rows.filter(({ states }) => {
    if (nodes > 0 && nodes + states.length > nodesMax) return false
    nodes += states.length
    return true
  })
}

interface IdRow {
  run_id: string
}
