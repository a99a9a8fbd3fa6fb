// Watches executions, jobs and graph runs while a history is carried out: every move from one state to another must be in
// the table of its kind, under an event that the call in question may carry out, and PostgreSQL must show the same state.
import assert from 'node:assert/strict'
import type pg from 'pg'
import { runTransitions } from '../../src/domain/graphs/transitions.ts'
import { jobTransitions } from '../../src/domain/jobs/transitions.ts'
import { executionIdAt } from '../../src/domain/queue/execution.ts'
import { executionTransitions } from '../../src/domain/queue/transitions.ts'
import type { TransitionTable } from '../../src/lib/transition-table.ts'
import type { MemoryStore } from '../../testing/memory-store/store.ts'
import { Consulted, type Operation } from './history.ts'
import { findPath, stateInBatch, stateOfLive, stateOfOutcome } from './states.ts'

type States = Map<string, string>
const KINDS = ['execution', 'job', 'graph run'] as const
type Kind = (typeof KINDS)[number]

const TABLES = {
  execution: executionTransitions,
  job: jobTransitions,
  'graph run': runTransitions,
} as Readonly<Record<Kind, TransitionTable>>

export class ObservedTransitions {
  readonly #store: MemoryStore
  readonly #client: pg.Client
  readonly #states: Record<Kind, States> = {
    execution: new Map(),
    job: new Map(),
    'graph run': new Map(),
  }
  /** The moves that were seen, as `kind: from -- event -> to`. */
  readonly seen = new Set<string>()

  constructor(store: MemoryStore, client: pg.Client) {
    this.#store = store
    this.#client = client
  }

  /** To be called after each operation has been carried out on both stores. */
  async observe(operation: Operation, said: string): Promise<void> {
    const calls = new Set(callsOf(operation))
    const changed: string[] = []
    for (const kind of KINDS) {
      const before = this.#states[kind]
      const now = this.#read(kind)
      for (const [id, to] of now) {
        const from = before.get(id) ?? null
        if (from === to) continue
        this.#check(kind, { id, from, to, calls }, said)
        if (kind === 'execution') changed.push(id)
      }
      for (const [id, from] of before) {
        const isPruned = now.has(id) || kind !== 'execution' || this.#store.log.of(id).length > 0
        assert.ok(isPruned || isEnd(from), `${said}: execution ${id} vanished while it was ${from}`)
      }
      this.#states[kind] = now
    }
    if (changed.length > 0) await this.#compare(changed, said)
  }

  #check(
    kind: Kind,
    move: { id: string; from: string | null; to: string; calls: ReadonlySet<string> },
    said: string,
  ): void {
    const { id, from, to, calls } = move
    const path = findPath(TABLES[kind], { from, to, calls })
    assert.ok(
      path,
      `${said}: ${kind} ${id} went from ${from ?? 'nothing'} to ${to}, which no transition allows`,
    )
    for (const step of path) this.seen.add(nameOf(kind, step))
  }

  #read(kind: Kind): States {
    if (kind === 'job')
      return new Map(this.#store.jobs.values().map(({ jobId, cursor }) => [jobId, cursor.status]))
    if (kind === 'graph run')
      return new Map(this.#store.graphRuns.values().map(({ runId, status }) => [runId, status]))
    return readExecutions(this.#store)
  }

  async #compare(executionIds: readonly string[], said: string): Promise<void> {
    const { rows } = await this.#client.query<StateRow>({
      name: 'selectStates',
      text: selectStates,
      values: [executionIds],
    })
    const theirs = new Map(rows.map((row) => [row.id, toState(row)]))
    for (const id of executionIds)
      assert.equal(theirs.get(id), this.#states.execution.get(id), `${said}: state of execution ${id}`)
  }
}

/** Every move of the tables, as `ObservedTransitions.seen` names them. */
export function allTransitions(): string[] {
  return KINDS.flatMap((kind) => TABLES[kind].transitions.map((step) => nameOf(kind, step)))
}

function nameOf(kind: Kind, { from, event, to }: { from: string | null; event: string; to: string }): string {
  return `${kind}: ${from ?? 'nothing'} -- ${event} -> ${to}`
}

function isEnd(state: string): boolean {
  return ['succeeded', 'failed', 'timed_out', 'cancelled', 'skipped'].includes(state)
}

/** The call, and all that was called in a transaction which it opened. */
function callsOf({ port, method, args }: Operation): string[] {
  const consulted = args.flatMap((argument) => [argument, ...partsOf(argument)])
  const inside = consulted.filter((argument) => argument instanceof Consulted)
  const did = inside.flatMap(({ calls }) => calls.flatMap((call) => call.did))
  return [`${port}.${method}`, ...did.flatMap(callsOf)]
}

function partsOf(argument: unknown): unknown[] {
  return argument !== null && typeof argument === 'object' ? Object.values(argument) : []
}

function readExecutions({ jobs, live, batches, log }: MemoryStore): States {
  const states: States = new Map()
  for (const { ended } of jobs.values())
    for (const id of ended) {
      const last = log.of(id).find(({ final }) => final)
      if (last !== undefined) states.set(id, stateOfOutcome(last.outcome))
    }
  for (const { batchId, entries, workerId, cancels } of batches.values())
    for (const { position } of entries)
      states.set(executionIdAt(batchId, position), stateInBatch(workerId !== null, cancels.has(position)))
  for (const { executionId, state, cancelledAt } of live.values())
    states.set(executionId, stateOfLive(state, cancelledAt !== null))
  return states
}

interface StateRow {
  id: string
  outcome: Parameters<typeof stateOfOutcome>[0] | null
  state: Parameters<typeof stateOfLive>[0] | null
  claimed: boolean
  cancelled: boolean
}

const selectStates = `
  SELECT x.id, a.outcome, l.state, b.worker_id IS NOT NULL AS claimed,
    l.cancelled_at IS NOT NULL OR coalesce(b.cancels ? b.place::text, false) AS cancelled
  FROM unnest($1::uuid[]) AS x(id)
  LEFT JOIN LATERAL (SELECT outcome FROM attempts WHERE execution_id = x.id AND final LIMIT 1) a ON true
  LEFT JOIN live l ON l.execution_id = x.id
  LEFT JOIN LATERAL (
    SELECT o.worker_id, o.cancels, u.place FROM batches o CROSS JOIN LATERAL unnest(o.positions) AS u(place)
    WHERE o.batch_id = batch_of(x.id) AND execution_at(o.batch_id, u.place) = x.id
  ) b ON true`

function toState({ outcome, state, claimed, cancelled }: StateRow): string {
  if (outcome !== null) return stateOfOutcome(outcome)
  return state === null ? stateInBatch(claimed, cancelled) : stateOfLive(state, cancelled)
}
