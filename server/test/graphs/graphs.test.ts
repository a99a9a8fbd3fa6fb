// Whole graphs on both stores: every node ends once and as the rules say, in whichever order executions end and however
// often their workers die; and a failed run, once resumed, succeeds.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import type { NodeState } from '../../src/domain/graphs/graph-run.ts'
import type { RunView } from '../../src/ports/graph-runs.ts'
import { POSTGRES_VERSIONS } from '../database.ts'
import { Dice } from '../fuzz/dice.ts'
import { GraphDrive, type NodeScript, type Track } from './graph-drive.ts'
import { type GraphStore, openOnMemory, openOnPostgres, type RecordedAttempt } from './graph-store.ts'
import { foretell } from './model.ts'
import { chain, diamond, fan, randomShape, type Shape } from './random-graph.ts'

/** The record of a node: its state, and the outcomes of the attempts of each of its executions. */
interface NodeRecord {
  state: NodeState
  executions: string[][]
}

const STORES: [name: string, open: (t: TestContext) => Promise<GraphStore>][] = [['memory', openOnMemory]]
for (const version of POSTGRES_VERSIONS)
  STORES.push([`PostgreSQL ${version}`, (t) => openOnPostgres(t, version)])
const onPostgres18 = (t: TestContext) => openOnPostgres(t, 18)

const calm: NodeScript = { fate: 'succeeded', losses: 0 }

for (const [name, open] of STORES) {
  test(`${name}: of a diamond the last node runs once, also when workers die`, async (t) => {
    const records = await playOne(t, open, diamond(), [
      { fate: 'succeeded', losses: 1 },
      { fate: 'succeeded', losses: 2 },
      calm,
      { fate: 'succeeded', losses: 1 },
    ])
    const lost = (times: number) => [[...Array<string>(times).fill('lost'), 'succeeded']]
    const executions = [lost(1), lost(2), lost(0), lost(1)]
    assert.deepEqual(
      records,
      executions.map((list): NodeRecord => ({ state: 'succeeded', executions: list })),
    )
  })
}

for (const shape of [chain(200), fan(200)]) {
  for (const [name, open] of STORES) {
    test(`${name}: ${shape.name} runs each node once`, async (t) => {
      const dice = new Dice(4)
      const script = Array.from(
        { length: shape.nodes },
        (): NodeScript => ({ ...calm, losses: drawLosses(dice) }),
      )
      const records = await playOne(t, open, shape, script)
      for (const [nodeIndex, { state, executions }] of records.entries()) {
        assert.equal(state, 'succeeded')
        const { losses } = script[nodeIndex]!
        assert.deepEqual(executions, [[...Array<string>(losses).fill('lost'), 'succeeded']])
      }
    })
  }
}

// A hundred in all; in parts, because a test may not take long.
for (const seed of [1, 2, 3, 4]) {
  test(`random graphs ${seed} have the same records in memory and on PostgreSQL, and are resumed to a good end`, async (t) => {
    const inMemory = await playMany(await openOnMemory(), seed)
    const onPostgres = await playMany(await onPostgres18(t), seed)
    assert.deepEqual(onPostgres.first, inMemory.first)
    assert.deepEqual(onPostgres.resumed, inMemory.resumed)
  })
}

async function playOne(
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

function drawLosses(dice: Dice): number {
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
