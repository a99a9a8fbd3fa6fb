// Collects the findings of the checker on a short simulation with a bug planted between the servers and the store.
import assert from 'node:assert/strict'
import type { Violation } from './checker.ts'
import { type Caller, wrapPorts } from './ports.ts'
import { run } from './run.ts'
import type { Tables } from './world.ts'

export interface Workload {
  /** Default 30. */
  jobs?: number
  /** Default none. */
  graphs?: number
  /** Default half an hour. */
  minutes?: number
}

/** The invariants that are not kept though nothing goes wrong but for the bug. */
export async function findBroken(
  bug: (tables: Tables) => Caller,
  workload: Workload = {},
): Promise<Set<string>> {
  return new Set((await findViolations(bug, workload)).map(({ invariant }) => invariant))
}

export async function findViolations(
  bug: (tables: Tables) => Caller,
  { jobs = 30, graphs = 0, minutes = 30 }: Workload = {},
): Promise<readonly Violation[]> {
  let caller: Caller | null = null
  const { verdict } = await run({
    seed: 10,
    servers: 2,
    forMs: minutes * 60_000,
    jobs,
    graphs,
    changeEveryMs: 1_500,
    drainMsMax: 10 * 60_000,
    tamper(tables) {
      caller ??= bug(tables)
      return wrapPorts(tables, caller)
    },
  })
  assert.ok(verdict.seen['executions']! > 200)
  return verdict.violations
}

/** Every so many calls of a method, the first ones left alone. */
export function everySo(many: number): () => boolean {
  let calls = 0
  return () => ++calls % many === 0
}
