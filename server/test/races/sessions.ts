// Two sessions on one database, each held where a test wants it: no sleeps, no luck.

import { randomInt } from 'node:crypto'
import type { TestContext } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type pg from 'pg'
import { runIdOfSlot } from '../../src/domain/graphs/graph-run.ts'
import { sharedLane } from '../../src/domain/queue/lane.ts'
import { planRelease } from '../../src/domain/queue/release.ts'
import { UuidV7 } from '../../src/lib/id.ts'
import { realRandom } from '../../src/lib/random.ts'
import type { Sql } from '../../src/lib/sql.ts'
import { epochMs } from '../../src/lib/time/epoch.ts'
import { realTimers } from '../../src/lib/time/timers.ts'
import type { Released } from '../../src/ports/maintenance.ts'
import type { Queries, Rows } from '../../src/postgres/connection/database.ts'
import { openPostgresStore } from '../../src/postgres/open-store.ts'
import { finishBatches, finishSucceeded } from '../../src/postgres/queue/queue.sql.ts'
import { fireFast, fireSlots } from '../../src/postgres/scheduling/fire-slots.sql.ts'
import { cleanUp } from '../cleanup.ts'
import { createScenario } from '../conformance/scenario.ts'
import type { PostgresVersion, TestAddress } from '../database.ts'
import { Dice } from '../fuzz/dice.ts'
import { KeptPool, keptName, type Recipe, useKeptDatabase } from '../kept-database.ts'
import { watchFlags } from './invariants.ts'

export type Race = Awaited<ReturnType<typeof createRace>>
export type Session = ReturnType<typeof openSession>

/** A scenario, two more sessions that can be held, and a plain one to look. */
export function createRace(t: TestContext, version: PostgresVersion = 18) {
  return startRace(t, version, { name: 'race', prepare: watchFlags, open: openThree })
}

/**
 * A race in which a deadlock shows: as a lock that is waited for too long, for the server would look for one only after
 * ten seconds, and a session that met one would begin anew.
 */
export function createPatientRace(t: TestContext, version: PostgresVersion) {
  const prepare = async (client: pg.Client) => {
    await watchFlags(client)
    await client.query(`ALTER DATABASE ${client.database} SET deadlock_timeout = '10s'`)
  }
  return startRace(t, version, { name: 'patient race', prepare, open: openThree })
}

function openThree(address: TestAddress) {
  const [s, first, second] = [
    openHeld(address, keptName),
    openHeld(address, keptName),
    openHeld(address, keptName),
  ]
  const all = [s, first, second]
  return {
    s,
    first,
    second,
    get areFree() {
      return all.every((database) => database.areFree)
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(all.map((database) => database[Symbol.asyncDispose]()))
    },
  }
}

async function startRace(
  t: TestContext,
  version: PostgresVersion,
  recipe: Recipe<ReturnType<typeof openThree>>,
) {
  const { address, client, sessions } = await useKeptDatabase(t, version, recipe)
  const s = await createScenario({
    ...sessionOn(sessions.s),
    async now() {
      const { rows } = await client.query('SELECT to_ms(clock_ms()) AS now')
      return epochMs(Number(rows[0].now))
    },
    addTenant: async () => '',
    ageHistory: async () => {},
  })
  return {
    s,
    address,
    client,
    first: sessionOn(sessions.first),
    second: sessionOn(sessions.second),
    /** Until so many sessions wait for a lock. */
    waiting: (count = 1) => untilWaiting(client, count),
  }
}

export function openSession(t: TestContext, address: TestAddress, name = 'race') {
  const database = openHeld(address, name)
  cleanUp(t, () => database[Symbol.asyncDispose]())
  return sessionOn(database)
}

function openHeld(address: TestAddress, name = 'race'): HeldDatabase {
  return new HeldDatabase({ timers: realTimers, random: realRandom }, { name, address, connectionsMax: 8 })
}

function sessionOn(database: HeldDatabase) {
  return {
    database,
    ...openPostgresStore(database),
    ids: new UuidV7(() => epochMs(Date.now()), realRandom),
    /** Holds the next transaction that comes to this statement, before it or with its work done and uncommitted. */
    holdBefore: (statement: Sql) => database.hold(statement, 'before'),
    holdAfter: (statement: Sql) => database.hold(statement, 'after'),
  }
}

/** Releases everything releasable of these jobs, as the release loop of a process does it. */
export function releaseAll(
  { maintenance, ids }: Pick<Session, 'maintenance' | 'ids'>,
  jobIds: readonly string[],
): Promise<Released> {
  return maintenance.release(jobIds, (job, keys) => {
    const plan = planRelease(job, keys)
    const place = { lane: sharedLane, priority: job.priority }
    const { graphId } = job
    const executions = (plan.owed?.slots ?? []).map((slot) => ({
      executionId: ids.nextBatch(),
      runId: graphId === null ? null : runIdOfSlot(graphId, slot),
      ...place,
    }))
    return { ...plan, executions }
  })
}

interface Hold {
  when: 'before' | 'after'
  reached: PromiseWithResolvers<void>
  resumed: PromiseWithResolvers<void>
}

export interface Held {
  /** It is there. */
  reached: Promise<void>
  resume(): void
}

const reachMsMax = 20_000

/** A database with statements that can be held. A single statement is then a transaction of its own. */
class HeldDatabase extends KeptPool {
  readonly #holds = new Map<string, Hold>()
  readonly #all: Hold[] = []

  /** Also not when something is to be held. */
  override get areFree(): boolean {
    return super.areFree && this.#holds.size === 0
  }

  hold({ name }: Sql, when: Hold['when']): Held {
    const hold: Hold = { when, reached: Promise.withResolvers(), resumed: Promise.withResolvers() }
    this.#holds.set(name, hold)
    this.#all.push(hold)
    // A test that holds a statement which is never sent fails with a message, instead of waiting until the runner ends
    // it.
    const { promise, reject } = hold.reached
    const guard = setTimeout(() => reject(new Error(`nothing came to ${name}`)), reachMsMax)
    const settle = () => clearTimeout(guard)
    promise.then(settle, settle)
    return { reached: hold.reached.promise, resume: () => hold.resumed.resolve() }
  }

  override query<R extends object>(statement: Sql, values: readonly unknown[]): Promise<Rows<R>> {
    if (!this.#holds.has(wholeOf(statement))) return super.query(statement, values)
    return super.transaction((queries) => this.#step(queries, statement, values))
  }

  override transaction<T>(work: (queries: Queries) => Promise<T>): Promise<T> {
    // As ever while nothing is to be held.
    if (this.#holds.size === 0) return super.transaction(work)
    return super.transaction((queries) => {
      // One at a time: statements sent behind a held one wait with it.
      let before: Promise<unknown> = Promise.resolve()
      const query: Queries['query'] = (statement, values) => {
        const step = before.then(() => this.#step<never>(queries, statement, values))
        before = step.catch(() => {})
        return step
      }
      return work({ query })
    })
  }

  /** A test that failed must not be waited for. */
  override async [Symbol.asyncDispose](): Promise<void> {
    for (const { resumed } of this.#all) resumed.resolve()
    await super[Symbol.asyncDispose]()
  }

  async #step<R extends object>(
    queries: Queries,
    statement: Sql,
    values: readonly unknown[],
  ): Promise<Rows<R>> {
    const name = wholeOf(statement)
    const hold = this.#holds.get(name)
    if (hold?.when === 'before') {
      this.#holds.delete(name)
      await arrive(hold)
    }
    const result = await queries.query<R>(statement, values)
    // The full statement handles the rows that the fast path has left.
    if (hold?.when === 'after' && (statement.name === name || result.rows.length === 0)) {
      this.#holds.delete(name)
      await arrive(hold)
    }
    return result
  }
}

/**
 * Fast-path statements, and the full statement to which each leaves the rest: a test that holds the full one means
 * both.
 */
const firstLooks = new Map([
  [fireFast.name, fireSlots.name],
  [finishSucceeded.name, finishBatches.name],
])

function wholeOf({ name }: Sql): string {
  return firstLooks.get(name) ?? name
}

async function arrive(hold: Hold): Promise<void> {
  hold.reached.resolve()
  await hold.resumed.promise
}

async function untilWaiting(client: pg.Client, count: number): Promise<void> {
  for (let looks = 0; looks < 2_000; looks++) {
    const { rows } = await client.query<{ waiting: string }>(
      `SELECT count(*) AS waiting FROM pg_stat_activity
      WHERE datname = current_database() AND wait_event_type = 'Lock' AND pid <> pg_backend_pid()`,
    )
    if (Number(rows[0]!.waiting) >= count) return
    await realTimers.wait(1)
  }
  throw new Error(`no ${count} sessions came to wait for a lock`)
}

/** Runs every actor again and again, all at once, until the time is over; returns the errors that escaped. */
export async function hammer(ms: number, actors: readonly (() => Promise<unknown>)[]): Promise<string[]> {
  const until = performance.now() + ms
  const errors: string[] = []
  await Promise.all(
    actors.map(async (actor) => {
      while (performance.now() < until) {
        // Also an actor that finds nothing to do lets the others go on.
        await nextTurn()
        try {
          await actor()
        } catch (error) {
          const { code, message } = error as { code?: string; message: string }
          errors.push(`${code ?? ''} ${message}`)
        }
      }
    }),
  )
  return errors
}

/** Choices from a seed that is new each time and printed; the machine still decides which statements run at once. */
export function rollDice(t: TestContext): Dice {
  const given = process.env['CARILLON_RACE_SEED']
  const seed = given === undefined ? randomInt(2 ** 31) : Number(given)
  t.diagnostic(`CARILLON_RACE_SEED=${seed}`)
  return new Dice(seed)
}
