// The same history into both stores, one operation after the other: they must say the same each time, and have the same
// in their tables in the end and every so often before. Every move of an execution, a job or a graph run on the way must be
// in the table of its kind.
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import type { EpochMs } from '../../src/lib/time/epoch.ts'
import { openMemoryStore } from '../../testing/memory-store/open-memory-store.ts'
import type { PostgresVersion } from '../database.ts'
import { openClockedPostgres } from './clocked-postgres.ts'
import type { Operation } from './history.ts'
import { lineOf } from './lines.ts'
import { ObservedTransitions } from './observed-transitions.ts'
import { carryOut } from './replay.ts'
import { readMemory, readPostgres } from './tables.ts'

export interface LockstepOptions {
  version: PostgresVersion
  tenantIds: readonly string[]
  /** The tables are compared after each so many operations. */
  tablesEvery: number
}

/** Returns the transitions that were seen. */
export async function runInLockstep(
  t: TestContext,
  history: readonly Operation[],
  { version, tenantIds, tablesEvery }: LockstepOptions,
): Promise<ReadonlySet<string>> {
  let now: EpochMs = history[0]!.at
  const postgres = await openClockedPostgres(t, { version, startAt: now, tenantIds })
  const { store, ...ports } = openMemoryStore({ databaseNow: () => now })
  const observed = new ObservedTransitions(store, postgres.client)
  const compareTables = async (after: string) => {
    const expected = readMemory(store)
    for (const [name, lines] of await readPostgres(postgres.client))
      compareRows(name, lines, expected.get(name)!, after)
  }
  for (const [index, operation] of history.entries()) {
    const said = `operation ${index}, ${operation.port}.${operation.method}(${lineOf(operation.args).slice(0, 2_000)})`
    now = operation.at
    await postgres.setClock(now)
    const ours = await carryOut(ports, operation)
    const theirs = await carryOut(postgres.ports, operation)
    if (!isFold(operation)) assert.deepEqual(theirs, ours, `${said}: PostgreSQL says otherwise`)
    await observed.observe(operation, said)
    if (index % tablesEvery === tablesEvery - 1) await compareTables(said)
  }
  await compareTables('all of them')
  return observed.seen
}

/** The memory store counts when it is read and folds nothing; readers compare the numbers that folds lead to. */
function isFold({ port, method }: Operation): boolean {
  return port === 'rollups' && method.startsWith('fold')
}

function compareRows(
  name: string,
  postgres: readonly string[],
  memory: readonly string[],
  after: string,
): void {
  const onlyThere = new Set(postgres).difference(new Set(memory))
  const onlyHere = new Set(memory).difference(new Set(postgres))
  if (onlyThere.size + onlyHere.size === 0 && postgres.length === memory.length) return
  const rows = (lines: ReadonlySet<string>) => [...lines].slice(0, 3).join('\n  ')
  assert.fail(
    `${name} differs after ${after}: ${postgres.length} rows on PostgreSQL, ${memory.length} in memory\n` +
      `only on PostgreSQL:\n  ${rows(onlyThere)}\nonly in memory:\n  ${rows(onlyHere)}`,
  )
}
