// The stores that graphs run on here, with access to their tables: the recorded attempts, and the rows that are left.
import type { TestContext } from 'node:test'
import type { ExecutionSkipReason } from '../../src/domain/graphs/graph-run.ts'
import type { Outcome } from '../../src/domain/queue/execution.ts'
import { epochMs } from '../../src/lib/time/epoch.ts'
import type { GraphRuns, RunSteps } from '../../src/ports/graph-runs.ts'
import { PostgresGraphRuns } from '../../src/postgres/graphs/graph-runs.ts'
import { PostgresRunSteps } from '../../src/postgres/graphs/run-steps.ts'
import { openMemoryStore } from '../../testing/memory-store/open-memory-store.ts'
import { createScenario, type Scenario } from '../conformance/scenario.ts'
import { connect, createDatabase, type PostgresVersion } from '../database.ts'
import { openSession } from '../races/sessions.ts'
import { createVirtualWorld } from '../virtual-world.ts'

export interface GraphStore {
  s: Scenario
  /** As two processes have them. */
  runSteps: readonly RunSteps[]
  graphRuns: GraphRuns
  /** All recorded attempts, by execution and in the order of attempts. */
  attempts(): Promise<RecordedAttempt[]>
  left(): Promise<Left>
  /** Returns when the clock has moved on. */
  tick(): Promise<void>
}

export interface RecordedAttempt {
  executionId: string
  runId: string | null
  attempt: number
  outcome: Outcome
  final: boolean
  skipReason: ExecutionSkipReason | null
  enqueuedAt: number
  recordedAt: number
}

/** Rows that are gone once nothing is under way. */
export interface Left {
  live: number
  notes: number
  roots: number
}

export const nothingLeft: Left = { live: 0, notes: 0, roots: 0 }

export async function openOnMemory(): Promise<GraphStore> {
  const world = createVirtualWorld({ startAt: Date.UTC(2026, 0, 1) + 123 })
  const tables = openMemoryStore(world.clock)
  const { store, runSteps, graphRuns } = tables
  return {
    s: await createScenario({ ...tables, ids: world.ids, now: async () => world.clock.databaseNow() }),
    runSteps: [runSteps, runSteps],
    graphRuns,
    async attempts() {
      return [...store.jobs.values()]
        .flatMap((job) => [...job.ended])
        .toSorted()
        .flatMap((executionId) => [...store.log.of(executionId)])
    },
    left: async () => ({
      live: store.live.size,
      notes: store.runNotes.size,
      roots: store.runRoots.size,
    }),
    tick: () => world.advance(1),
  }
}

export async function openOnPostgres(t: TestContext, version: PostgresVersion): Promise<GraphStore> {
  const address = await createDatabase(t, { version })
  const client = await connect(t, address)
  const sessions = [openSession(t, address), openSession(t, address)]
  const now = async () => {
    const { rows } = await client.query('SELECT to_ms(clock_ms()) AS now')
    return epochMs(Number(rows[0].now))
  }
  return {
    s: await createScenario({ ...sessions[0]!, now }),
    runSteps: sessions.map(({ database }) => new PostgresRunSteps(database)),
    graphRuns: new PostgresGraphRuns(sessions[0]!.database),
    async attempts() {
      const { rows } = await client.query(attemptsText)
      return rows
    },
    async left() {
      const { rows } = await client.query(leftText)
      return rows[0]
    },
    async tick() {},
  }
}

const attemptsText = `
  SELECT execution_id AS "executionId", run_id AS "runId", attempt, outcome, final, skip_reason AS "skipReason",
    to_ms(enqueued_at)::float8 AS "enqueuedAt", to_ms(recorded_at)::float8 AS "recordedAt"
  FROM attempts ORDER BY execution_id, attempt`

const leftText = `
  SELECT (SELECT count(*) FROM live)::int AS live, (SELECT count(*) FROM run_notes)::int AS notes,
    (SELECT count(*) FROM run_roots)::int AS roots`
