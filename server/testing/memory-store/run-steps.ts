// Runs of graphs in memory, taken further: by the same pure functions as on PostgreSQL, a run at a time.

import {
  type NodeState,
  nodeStateOf,
  RunGraph,
  skipMessageOf,
  stepRun,
} from '../../src/domain/graphs/graph-run.ts'
import type { JobStatus } from '../../src/domain/jobs/job.ts'
import type { SettledAttempt } from '../../src/domain/queue/attempt.ts'
import { rankOf } from '../../src/domain/queue/rank.ts'
import type { EpochMs } from '../../src/lib/time/epoch.ts'
import type { RunSteps, RunTools, Stepped } from '../../src/ports/graph-runs.ts'
import { cancelUnderWay } from './cancel.ts'
import { entryState } from './insert-live.ts'
import { moveRoot } from './move-root.ts'
import { recordAttempt, settledOf, skippedEnd, toSettled } from './record-attempt.ts'
import type { GraphRunRow, JobRow, RunNoteRow } from './rows.ts'
import { nameOf } from './run-view.ts'
import { compareText } from './sorted-set.ts'
import { findEnd, makeRun } from './start-run.ts'
import type { MemoryStore } from './store.ts'

export class MemoryRunSteps implements RunSteps {
  readonly #store: MemoryStore

  constructor(store: MemoryStore) {
    this.#store = store
  }

  async findNoted(limit: number, unfired: boolean, except: readonly string[] = []): Promise<string[]> {
    const { unfiredRuns } = this.#store
    const isWanted = (runId: string) => !except.includes(runId)
    const noted = this.#findNoted(limit, isWanted)
    if (!unfired) return noted
    return [...new Set([...noted, ...unfiredRuns.keys().filter(isWanted).take(limit)])].slice(0, limit)
  }

  /** In turns by tenant, each with an equal share: as PostgreSQL finds them in the first look of its round. */
  #findNoted(limit: number, isWanted: (runId: string) => boolean): string[] {
    const { runNotes } = this.#store
    const nodeIndexes = new Map([...runNotes.keys()].map((runId, nodeIndex) => [runId, nodeIndex]))
    const byTenant = Map.groupBy(nodeIndexes.keys(), (runId) => this.#tenantOf(runId))
    const tenants = [...byTenant.entries()].toSorted(([a], [b]) => compareText(a, b)).slice(0, limit)
    const share = Math.max(1, Math.floor(limit / Math.max(1, tenants.length)))
    const turns = tenants.flatMap(([, runIds]) =>
      runIds
        .filter(isWanted)
        .toSorted(compareText)
        .slice(0, share)
        .map((runId) => ({ runId, nodeIndex: nodeIndexes.get(runId)! }))
        .toSorted((a, b) => a.nodeIndex - b.nodeIndex)
        .map((one, turn) => ({ ...one, turn })),
    )
    return turns.toSorted((a, b) => a.turn - b.turn || a.nodeIndex - b.nodeIndex).map(({ runId }) => runId)
  }

  #tenantOf(runId: string): string {
    const { runNotes, jobs } = this.#store
    return jobs.get(runNotes.get(runId)![0]!.jobId)!.tenantId
  }

  async step(runIds: readonly string[], tools: RunTools): Promise<Stepped> {
    const stepped = nothingStepped()
    const { graphRuns, runNotes } = this.#store
    const wanted = new Set(runIds)
    const known = [...wanted].flatMap((runId) => graphRuns.get(runId) ?? [])
    // All runs are made before any is stepped, as on PostgreSQL: no run starts after an end caused by stepping another.
    const starts = [...runNotes.keys()].filter((runId) => wanted.has(runId) && !graphRuns.has(runId))
    const made = starts.flatMap((runId) => this.#make(runId, tools) ?? [])
    for (const run of [...known, ...made]) {
      advanceRun(this.#store, run, { laneOf: tools.laneOf, isNew: made.includes(run) }, stepped)
    }
    return stepped
  }

  /** Null: nothing is known of the run any more, and its leftover notes are deleted. */
  #make(runId: string, tools: RunTools): GraphRunRow | null {
    const run = makeRun(this.#store, runId, tools)
    if (run === null) this.#dropNotes(runId)
    return run
  }

  #dropNotes(runId: string): void {
    for (const { jobId, executionId } of this.#store.runNotes.get(runId) ?? [])
      this.#store.deleteRunRoot({ jobId, runId, executionId })
    this.#store.runNotes.delete(runId)
  }

  async prune(limit: number): Promise<number> {
    const { graphRuns } = this.#store
    const before = this.#store.retainedFrom()
    const old = graphRuns
      .values()
      .filter(({ finishedAt }) => finishedAt !== null && finishedAt < before)
      .toArray()
      .toSorted((a, b) => a.finishedAt! - b.finishedAt!)
      .slice(0, limit)
    for (const { runId } of old) graphRuns.delete(runId)
    return old.length
  }
}

export function nothingStepped(): Stepped {
  return { ready: 0, waiting: false, cancelled: false, over: [], settled: [] }
}

/** Steps a run by its notes, including the ones it causes itself. A new or resumed run is evaluated as a whole. */
export function advanceRun(
  store: MemoryStore,
  run: GraphRunRow,
  { laneOf, isNew }: { laneOf: RunTools['laneOf']; isNew: boolean },
  stepped: Stepped,
): void {
  let look = isNew ? [...run.states.keys()] : []
  do {
    const notes = store.runNotes.get(run.runId) ?? []
    store.runNotes.delete(run.runId)
    const changes = readNotes(store, run, notes, stepped)
    if (run.finishedAt !== null) continue
    for (const nodeIndex of unrunRootsOf(store, run, changes)) changes.set(nodeIndex, 'unrun')
    const statusOf = (jobId: string) => statusNow(store, jobId)
    const isCancelled = run.status === 'CANCELLING'
    const step = stepRun(run.graph, run.states, { changes, look, isCancelled, statusOf })
    run.states = step.states
    for (const nodeIndex of step.go) letGo(store, run, nodeIndex, laneOf, stepped)
    for (const nodeIndex of step.skip) stepped.settled.push(skip(store, run, nodeIndex))
    if (step.over !== null) end(store, run, step.over, stepped)
    look = []
  } while (store.runNotes.has(run.runId))
  if (run.states.includes('unfired')) store.unfiredRuns.add(run.runId)
  else store.unfiredRuns.delete(run.runId)
}

/** A job with an expired pause resumes in a moment. */
function statusNow(store: MemoryStore, jobId: string): JobStatus | undefined {
  const job = store.jobs.get(jobId)
  const until = job?.pause?.until ?? null
  return until !== null && until <= store.now() ? 'ACTIVE' : job?.cursor.status
}

/**
 * Ends the executions of the run that do not run; nothing of it starts any more. If a run is cancelled twice, the first
 * cancel is on record.
 */
export function cancelRun(store: MemoryStore, run: GraphRunRow, message: string, stepped: Stepped): void {
  if (run.status !== 'RUNNING') return
  run.status = 'CANCELLING'
  run.cancelMessage = message
  for (const { executionId, role } of run.graph.plan.nodes) {
    if (role !== 'outside' && executionId !== null) cancelOne(store, executionId, message, stepped)
  }
}

function cancelOne(store: MemoryStore, executionId: string, message: string, stepped: Stepped): void {
  const row = store.live.get(executionId)
  if (row === undefined) return
  if (cancelUnderWay(store, { kind: 'live', row }, message)) stepped.cancelled = true
  else {
    stepped.waiting = true
    stepped.settled.push(settledOf(store, executionId))
  }
}

/** The changes of nodes according to the notes, by node index; other requests in the notes are carried out. */
function readNotes(
  store: MemoryStore,
  run: GraphRunRow,
  notes: readonly RunNoteRow[],
  stepped: Stepped,
): Map<number, NodeState> {
  const changes = new Map<number, NodeState>()
  const strays = new Set<string>()
  for (const note of notes) {
    const { what, executionId } = note
    if (what === 'root' && !isAwaited(run, note, changes)) {
      strays.add(executionId)
      turnAway(store, run, { note, notes }, stepped)
    }
    // The other notes on it have gone with it.
    if (strays.has(executionId) || run.finishedAt !== null) continue
    if (what === 'root') takeRoot(store, run, note, { changes, stepped })
    else if (what === 'end') takeEnd(store, run, note, { changes, stepped })
    else if (isOfNode(run, note)) cancelRun(store, run, note.message ?? '', stepped)
  }
  return changes
}

function isAwaited(run: GraphRunRow, note: RunNoteRow, changes: News['changes']): boolean {
  const nodeIndex = rootPlaceOf(run, note)
  return run.finishedAt === null && run.states[nodeIndex] === 'unfired' && !changes.has(nodeIndex)
}

function rootPlaceOf({ graph }: GraphRunRow, { jobId }: RunNoteRow): number {
  return graph.plan.nodes.findIndex((node) => node.jobId === jobId && node.role === 'root')
}

/** Else another execution has taken its place, or it has left the run. */
function isOfNode({ graph }: GraphRunRow, { executionId }: RunNoteRow): boolean {
  return graph.plan.nodes.some((node) => node.executionId === executionId)
}

/** Its graph was another one when the run began, or the run has done without it. */
function turnAway(
  store: MemoryStore,
  run: GraphRunRow,
  { note, notes }: { note: RunNoteRow; notes: readonly RunNoteRow[] },
  stepped: Stepped,
): void {
  stepped.waiting = true
  if (run.states[rootPlaceOf(run, note)] !== 'unrun' || run.cancelMessage === null) {
    moveRoot(store, note, notes)
    return
  }
  // It fires into a run that was cancelled before.
  store.deleteRunRoot(note)
  cancelOne(store, note.executionId, run.cancelMessage, stepped)
}

interface News {
  changes: Map<number, NodeState>
  stepped: Stepped
}

function takeRoot(store: MemoryStore, run: GraphRunRow, note: RunNoteRow, { changes, stepped }: News): void {
  const { executionId } = note
  const { nodes, edges } = run.graph.plan
  const nodeIndex = rootPlaceOf(run, note)
  const { version } = store.live.get(executionId) ?? findEnd(store, executionId) ?? nodes[nodeIndex]!
  run.graph = new RunGraph({
    nodes: nodes.with(nodeIndex, { ...nodes[nodeIndex]!, executionId, version }),
    edges,
  })
  changes.set(nodeIndex, 'going')
  if (run.status === 'CANCELLING') cancelOne(store, executionId, run.cancelMessage!, stepped)
}

function takeEnd(
  store: MemoryStore,
  run: GraphRunRow,
  { executionId }: RunNoteRow,
  { changes, stepped }: News,
): void {
  const { nodes } = run.graph.plan
  // Another execution has taken its place, or it ran alone.
  const nodeIndex = nodes.findIndex((node) => node.executionId === executionId)
  if (nodeIndex === -1) return
  const last = findEnd(store, executionId)
  // Nothing is on record of it: jobs that depend on its success do not run.
  changes.set(nodeIndex, last === undefined ? 'failed' : nodeStateOf(last.outcome, last.skipReason))
  if (nodes[nodeIndex]!.role === 'root' && last?.outcome === 'cancelled')
    cancelRun(store, run, last.error?.message ?? '', stepped)
}

/** Roots that have not fired into the run, and will not: roots that have fired are noted. */
function unrunRootsOf(
  store: MemoryStore,
  { slot, states, graph }: GraphRunRow,
  changes: ReadonlyMap<number, NodeState>,
): number[] {
  const unfired = [...states.keys()].filter(
    (nodeIndex) => states[nodeIndex] === 'unfired' && !changes.has(nodeIndex),
  )
  return unfired.filter((nodeIndex) => !isToCome(store.jobs.get(graph.plan.nodes[nodeIndex]!.jobId)!, slot))
}

function isToCome({ cursor, slots, owed, pause }: JobRow, slot: EpochMs): boolean {
  // It was skipped, or fired into another run: the job was in another graph then.
  if (slots.has(slot)) return false
  if (owed !== null && owed.from <= slot && slot <= owed.to) return true
  const { status, depends, slotAt, decidedTo } = cursor
  if (depends || (decidedTo !== null && decidedTo >= slot)) return false
  // A job with an expired pause resumes as of the end of the pause, in a moment.
  const from = status === 'ACTIVE' ? slotAt : status === 'PAUSED' ? (pause?.until ?? null) : null
  return from !== null && from <= slot
}

function letGo(
  store: MemoryStore,
  run: GraphRunRow,
  nodeIndex: number,
  laneOf: RunTools['laneOf'],
  stepped: Stepped,
): void {
  const row = store.live.get(run.graph.plan.nodes[nodeIndex]!.executionId!)!
  const enqueuedAt = store.now()
  const isFree = !store.isBlocked(store.jobs.get(row.jobId)!)
  const entry = entryState(store.versionOf(row), { isFree })
  const rank = rankOf(enqueuedAt, row.priority)
  store.changeLive(row, { ...entry, lane: laneOf(row.tenantId), enqueuedAt, rank })
  if (entry.state === 'ready') stepped.ready += 1
  else stepped.waiting = true
}

function skip(store: MemoryStore, run: GraphRunRow, nodeIndex: number): SettledAttempt {
  const row = store.live.get(run.graph.plan.nodes[nodeIndex]!.executionId!)!
  const state = run.states[nodeIndex]!
  const reason = state === 'paused' || state === 'deleted' ? state : 'dependency'
  store.deleteLive(row)
  const message = skipMessageOf(run.graph, run.states, nodeIndex, (jobId) => nameOf(store, jobId))
  return toSettled(store, recordAttempt(store, row, null, skippedEnd(store, { reason, message })))
}

function end(store: MemoryStore, run: GraphRunRow, status: Stepped['over'][number], stepped: Stepped): void {
  run.status = status
  run.finishedAt = store.now()
  for (const { jobId, role } of run.graph.plan.nodes) {
    if (role === 'root') store.deleteRunRoot({ jobId, runId: run.runId })
  }
  stepped.over.push(status)
  stepped.waiting = true
}
