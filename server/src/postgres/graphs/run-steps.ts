// Advances graph runs, on PostgreSQL. Each run is locked first; its notes are read in later statements, so that nothing
// is missed. A step of hundreds of runs takes as many statements as a step of a single run.
import { takeAffordable } from '../../domain/graphs/affordable.ts'
import { firstId } from '../../lib/id.ts'
import type { RunSteps, RunTools, Stepped } from '../../ports/graph-runs.ts'
import { withPartitions } from '../connection/daily-partitions.ts'
import type { Transactions } from '../connection/database.ts'
import { advanceRuns, noSteps } from './advance-runs.ts'
import { GraphPlanCache } from './plan-cache.ts'
import type { RunRow } from './rows.ts'
import * as statements from './run-steps.sql.ts'
import { StartMemory, startRuns } from './start-runs.ts'

/** Nodes of the runs that one step looks at, unless a single run has more. */
const nodesMax = 20_000

/** At tenants of which no run is wanted, before the next look is left to the next step. */
const looksMax = 100

export class PostgresRunSteps implements RunSteps {
  readonly #database: Transactions
  readonly #graphs = new GraphPlanCache()
  readonly #memory = new StartMemory()
  /** How far the runs with roots to come were looked through. */
  #unfiredAfter = firstId
  /** Behind these the next look at noted runs begins. */
  #round: Round = start
  /** The same once the runs that were found last are stepped: a step that fails is repeated with the same runs. */
  #next: Round = start

  constructor(database: Transactions) {
    this.#database = database
  }

  async findNoted(limit: number, unfired: boolean, except: readonly string[] = []): Promise<string[]> {
    const noted = await this.#findNoted(limit, except)
    if (!unfired || noted.length >= limit) return noted
    const open = await this.#findUnfired(limit - noted.length, except)
    return [...new Set([...noted, ...open])]
  }

  async #findNoted(limit: number, except: readonly string[]): Promise<string[]> {
    for (let looks = 1; ; looks++) {
      const values = [limit, except, this.#round.tenantId, this.#round.runId]
      const { rows } = await this.#database.query<NotedRow>(statements.selectNoted, values)
      const found = rows.filter(hasRun)
      this.#next = { tenantId: tenantAfter(rows, limit), runId: runAfter(found) }
      if (found.length > 0 || rows.length < limit || looks === looksMax) return found.map((row) => row.run_id)
      // Tenants of which all runs are left out hide no others.
      this.#round = this.#next
    }
  }

  /** Round and round, so that no run hides others. */
  async #findUnfired(limit: number, except: readonly string[]): Promise<string[]> {
    const values = [limit, this.#unfiredAfter, except]
    const { rows } = await this.#database.query<{ run_id: string }>(statements.selectUnfired, values)
    this.#unfiredAfter = rows.length < limit ? firstId : rows.at(-1)!.run_id
    return rows.map((row) => row.run_id)
  }

  async step(runIds: readonly string[], tools: RunTools): Promise<Stepped> {
    if (runIds.length === 0) return noSteps()
    const stepped = await withPartitions(this.#database, 'attempts', 'today', () =>
      this.#database.transaction(async (queries): Promise<Stepped> => {
        const { rows } = await queries.query<RunRow>(statements.lockRuns, [runIds])
        const locked = new Map(rows.map((row) => [row.run_id, row]))
        // In the requested order: the first runs must not be left out again and again.
        const ordered = runIds.map((runId) => locked.get(runId)).filter((row) => row !== undefined)
        const held = takeAffordable(ordered, ({ states }) => states.length, nodesMax)
        const known = await this.#graphs.hold(queries, held)
        const rest = runIds.filter((runId) => !locked.has(runId))
        const { made, left } = await startRuns(queries, rest, tools, this.#memory)
        const stepped = await advanceRuns(queries, [...known, ...made], { laneOf: tools.laneOf })
        return left || held.length < ordered.length ? { ...stepped, left: true } : stepped
      }),
    )
    this.#round = this.#next
    return stepped
  }

  async prune(limit: number): Promise<number> {
    const { count } = await this.#database.query(statements.deleteOldRuns, [limit])
    return count
  }
}

/** A nodeIndex in the rounds through tenants and through runs that have notes. */
interface Round {
  tenantId: string
  runId: string
}

const start: Round = { tenantId: firstId, runId: firstId }

/** The last tenant of a look; from the start again if that were all of them. */
function tenantAfter(rows: readonly NotedRow[], limit: number): string {
  const tenants = new Map(rows.map((row) => [row.nth, row.tenant_id]))
  return tenants.size < limit ? firstId : tenants.get(Math.max(...tenants.keys()))!
}

/**
 * Behind the last run of the tenant that came the least far: none of its runs is passed over. A tenant that has no more
 * runs than its share is looked at as a whole each time, and is waited for by none.
 */
function runAfter(found: readonly FoundRow[]): string {
  const reached = Map.groupBy(
    found.filter((row) => !row.is_round),
    (row) => row.tenant_id,
  )
    .values()
    .filter((rows) => rows.length === rows[0]!.share)
    .map(
      (rows) =>
        rows
          .map((row) => row.run_id)
          .toSorted()
          .at(-1)!,
    )
    .toArray()
  return reached.toSorted()[0] ?? firstId
}

interface NotedRow {
  tenant_id: string
  /** Its nodeIndex among the tenants of this look. */
  nth: number
  /** Null: all runs of the tenant are left out. */
  run_id: string | null
  /** Whether it is before the position at which the round of runs began. */
  is_round: boolean
  /** How many runs each tenant has in this look. */
  share: number
}

type FoundRow = NotedRow & { run_id: string }

function hasRun(row: NotedRow): row is FoundRow {
  return row.run_id !== null
}
