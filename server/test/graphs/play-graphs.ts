// Plays whole graphs on a store and checks the records of their runs.
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import type { NodeState } from '../../src/domain/graphs/graph-run.ts'
import type { RunView } from '../../src/ports/graph-runs.ts'
import { Dice } from '../fuzz/dice.ts'
import { GraphDrive, type NodeScript, type Track } from './graph-drive.ts'
import { type GraphStore, openOnMemory, openOnPostgres, type RecordedAttempt } from './graph-store.ts'
import { foretell } from './model.ts'
import { randomShape, type Shape } from './random-graph.ts'

/** The record of a node: its state, and the outcomes of the attempts of each of its executions. */
export interface NodeRecord {
  state: NodeState
  executions: string[][]
}

export async function playOne(
  t: TestContext,
  open: (t: TestContext) => Promise<GraphStore>,
  shape: Shape,
  script: NodeScript[],
): Promise<NodeRecord[]> {
  const store = await open(t)
  const drive = new GraphDrive(store, new Dice(1))
  const track = await drive.create(shape, script)
  await drive.start(track)
  await drive.drive()
  const attempts = await readAttempts(store)
  assert.equal(attempts.size, shape.nodes, 'one execution for each node')
  const view = await viewOf(store, track)
  checkOrder(view, track, attempts)
  return recordsOf(view, track, attempts)
}

/** Twenty-five random graphs: both stores record the same, and resumed runs end well. */
export async function assertStoresAgree(t: TestContext, seed: number): Promise<void> {
  const inMemory = await playMany(await openOnMemory(), seed)
  const onPostgres = await playMany(await openOnPostgres(t, 18), seed)
  assert.deepEqual(onPostgres.first, inMemory.first)
  assert.deepEqual(onPostgres.resumed, inMemory.resumed)
}

/** All at once, so that each step has many runs; first as the scripts say, then resumed. */
async function playMany(
  store: GraphStore,
  seed: number,
): Promise<{ first: NodeRecord[][]; resumed: NodeRecord[][] }> {
  const dice = new Dice(seed)
  const drive = new GraphDrive(store, new Dice(seed))
  const tracks: Track[] = []
  for (let i = 0; i < 25; i++) {
    const shape = randomShape(
      dice,
      dice.pick([6, 12, 25, 25, 50, 200]),
      dice.chance(0.3) ? dice.between(2, 4) : 1,
    )
    tracks.push(await drive.create(shape, drawScript(dice, shape), () => drawChanges(dice)))
  }
  for (const track of tracks) await drive.start(track)
  await drive.drive()
  const told = tracks.map(({ shape, script }) =>
    foretell(
      shape,
      script.map(({ fate }) => fate),
    ),
  )
  const first = await checkMany(store, tracks, told)

  for (const [index, track] of tracks.entries()) {
    const isWell = first[index]!.every(({ state }) => state === 'succeeded' || state === 'dependency')
    assert.equal(await drive.resume(track), isWell ? 'nothing' : 'resumed')
  }
  await drive.drive()
  const attempts = await readAttempts(store)
  const resumed: NodeRecord[][] = []
  for (const [index, track] of tracks.entries()) {
    const view = await viewOf(store, track)
    assert.equal(view.status, 'SUCCEEDED')
    const records = recordsOf(view, track, attempts)
    // Nodes that had succeeded, with all nodes above them, did not run again; every other node now ends well.
    const { edges } = track.shape
    const again = new Set<number>()
    for (const [nodeIndex, record] of records.entries()) {
      const before = first[index]![nodeIndex]!
      const isWell = before.state === 'succeeded' || before.state === 'dependency'
      // Parents come first.
      if (!isWell || edges.some(({ parent, child }) => child === nodeIndex && again.has(parent)))
        again.add(nodeIndex)
      if (!again.has(nodeIndex)) assert.deepEqual(record, before)
      else
        assert.ok(
          record.state === 'succeeded' || record.state === 'dependency',
          `${nodeIndex} is ${record.state}`,
        )
    }
    assert.equal(await drive.resume(track), 'nothing')
    resumed.push(records)
  }
  return { first, resumed }
}

async function checkMany(
  store: GraphStore,
  tracks: readonly Track[],
  told: readonly ReturnType<typeof foretell>[],
): Promise<NodeRecord[][]> {
  const attempts = await readAttempts(store)
  const nodes = tracks.reduce((sum, { shape }) => sum + shape.nodes, 0)
  assert.equal(attempts.size, nodes, 'one execution for each node')
  const all: NodeRecord[][] = []
  for (const [index, track] of tracks.entries()) {
    const { states, status } = told[index]!
    const view = await viewOf(store, track)
    const records = recordsOf(view, track, attempts)
    const expected = states.map(
      (state, nodeIndex): NodeRecord => ({ state, executions: [endsOf(state, track.script[nodeIndex]!)] }),
    )
    assert.deepEqual(records, expected, track.shape.name)
    assert.equal(view.status, status)
    checkOrder(view, track, attempts)
    all.push(records)
  }
  return all
}

function endsOf(state: NodeState, { losses }: NodeScript): string[] {
  if (state === 'dependency' || state === 'paused') return [`skipped ${state}`]
  return [...Array<string>(losses).fill('lost'), state]
}

/** By execution; each has one last attempt. */
async function readAttempts(store: GraphStore): Promise<Map<string, RecordedAttempt[]>> {
  const byExecution = Map.groupBy(await store.attempts(), ({ executionId }) => executionId)
  for (const [executionId, rows] of byExecution) {
    assert.equal(rows.filter(({ final }) => final).length, 1, `${executionId} ended once`)
    assert.ok(rows.at(-1)!.final)
  }
  return byExecution
}

async function viewOf({ graphRuns }: GraphStore, { runId, jobs }: Track): Promise<RunView> {
  const view = await graphRuns.get(jobs[0]!.tenantId, runId)
  assert(view !== null, `there is no run ${runId}`)
  return view
}

function recordsOf(
  { runId, plan }: RunView,
  { jobs }: Track,
  attempts: ReadonlyMap<string, readonly RecordedAttempt[]>,
): NodeRecord[] {
  const byJob = new Map(plan.map((node) => [node.jobId, node]))
  return jobs.map(({ jobId }) => {
    const { state, executionId, replaced } = byJob.get(jobId)!
    const executions = [...replaced, executionId!].map((id) =>
      attempts.get(id)!.map(({ outcome, skipReason, runId: own }) => {
        assert.equal(own, runId)
        return skipReason === null ? outcome : `${outcome} ${skipReason}`
      }),
    )
    return { state, executions }
  })
}

/** Nothing was enqueued before all that it runs after was on record. */
function checkOrder(
  { plan }: RunView,
  { jobs, shape }: Track,
  attempts: ReadonlyMap<string, readonly RecordedAttempt[]>,
): void {
  const byJob = new Map(plan.map(({ jobId, executionId }) => [jobId, attempts.get(executionId!)!]))
  for (const { parent, child } of shape.edges) {
    const [before, after] = [parent, child].map((nodeIndex) => byJob.get(jobs[nodeIndex]!.jobId)!)
    if (after![0]!.skipReason !== null) continue
    const isLater = after![0]!.enqueuedAt >= before!.at(-1)!.recordedAt
    assert.ok(isLater, `${child} was enqueued before ${parent} had ended`)
  }
}

export function drawLosses(dice: Dice): number {
  return dice.chance(0.05) ? dice.between(1, 3) : 0
}

/** A root that is cancelled or paused is another matter. */
function drawScript(dice: Dice, { nodes, edges }: Shape): NodeScript[] {
  const failing = dice.pick([0, 0.05, 0.2])
  const inner = new Set(edges.map(({ child }) => child))
  return Array.from({ length: nodes }, (_, nodeIndex): NodeScript => {
    const luck = dice.chance(failing)
    const bad = inner.has(nodeIndex)
      ? (['failed', 'timed_out', 'cancelled', 'paused'] as const)
      : (['failed'] as const)
    return { fate: luck ? dice.pick(bad) : 'succeeded', losses: drawLosses(dice) }
  })
}

/** Some may not overlap, some share a key, and roots that meet at a slot need not have the same schedule. */
function drawChanges(dice: Dice) {
  const overlapPolicy = dice.pick(['ALLOW', 'SKIP', 'BUFFER_ALL', 'CANCEL_RUNNING'] as const)
  const isKeyed = dice.chance(0.1)
  const cron_expression = dice.pick(['* * * * * *', '0-59 * * * * *'])
  const schedule = { type: 'CRON', cron_expression } as const
  return { overlapPolicy, schedule, ...(isKeyed ? { concurrencyKey: { key: 'narrow', limit: 5 } } : {}) }
}
