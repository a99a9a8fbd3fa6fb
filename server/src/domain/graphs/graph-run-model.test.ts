// Checks the course of a run against the rules in words, over random graphs and with its updates in any order.
import assert from 'node:assert/strict'
import test from 'node:test'
import { Dice } from '../../../test/fuzz/dice.ts'
import { type Fate, foretell, isMetBy } from '../../../test/graphs/model.ts'
import { randomShape, type Shape } from '../../../test/graphs/random-graph.ts'
import type { JobStatus } from '../jobs/job.ts'
import {
  isNodeEnded,
  type NodeState,
  type RunEdge,
  RunGraph,
  type RunNode,
  type RunStatus,
  resumableOf,
  skipMessageOf,
  stepRun,
} from './graph-run.ts'

interface Case {
  graph: RunGraph
  shape: Shape
  /** Of roots and inner ones. */
  fates: Fate[]
  before: NodeState[]
  outside: Set<number>
}

const statusOfFate: Partial<Record<Fate, JobStatus>> = { paused: 'PAUSED', deleted: 'DELETED' }

/** Some of its roots are outside, and have ended before or not at all. */
function drawCase(dice: Dice): Case {
  const roots = dice.chance(0.5) ? 1 : dice.between(2, 5)
  const shape = randomShape(dice, 60, roots)
  const failing = dice.pick([0, 0.1, 0.4])
  const drawEnd = (): Fate =>
    dice.chance(failing) ? dice.pick(['failed', 'timed_out', 'cancelled']) : 'succeeded'
  const outside = new Set<number>()
  const fates = Array.from({ length: shape.nodes }, (_, nodeIndex): Fate => {
    if (nodeIndex >= roots) return dice.chance(failing / 4) ? dice.pick(['paused', 'deleted']) : drawEnd()
    if (nodeIndex > 0 && dice.chance(0.3)) outside.add(nodeIndex)
    if (outside.has(nodeIndex)) return dice.chance(0.2) ? 'absent' : drawEnd()
    return nodeIndex > 0 && dice.chance(0.2) ? 'unrun' : drawEnd()
  })
  const before = fates.map((fate, nodeIndex): NodeState => {
    if (outside.has(nodeIndex)) return fate
    return nodeIndex < roots ? 'unfired' : 'blocked'
  })
  const nodes = before.map((_, nodeIndex): RunNode => {
    const role = outside.has(nodeIndex) ? 'outside' : nodeIndex < roots ? 'root' : 'inner'
    return { jobId: `job ${nodeIndex}`, version: 1, role, executionId: null }
  })
  const edges: readonly RunEdge[] = shape.edges
  return { graph: new RunGraph({ nodes, edges }), shape, fates, before, outside }
}

/**
 * Plays a run to its end: nodes that go end as their fate says, in any order, and updates come in batches of any size.
 */
class Played {
  readonly #case: Case
  readonly #dice: Dice
  readonly went: number[] = []
  readonly skipped: number[] = []
  states: NodeState[]
  over: RunStatus | null = null
  #pending: { nodeIndex: number; state: NodeState }[] = []

  constructor(drawn: Case, dice: Dice) {
    this.#case = drawn
    this.#dice = dice
    this.states = drawn.before
  }

  /** `look`: blocked ones that are looked at besides. */
  play(started: readonly number[], look: readonly number[]): void {
    for (const nodeIndex of started) this.#addUpdates(nodeIndex)
    this.#step(new Map(), look)
    while (this.#pending.length > 0) this.#step(this.#draw(), [])
  }

  #addUpdates(nodeIndex: number): void {
    const state = this.#case.fates[nodeIndex]!
    if (state !== 'unrun' && this.#dice.chance(0.5)) this.#pending.push({ nodeIndex, state: 'going' })
    this.#pending.push({ nodeIndex, state })
    // Some news come twice, and late.
    if (this.#dice.chance(0.1))
      this.#pending.push({ nodeIndex, state: this.#dice.pick(['going', 'failed', state]) })
  }

  /** The updates of a node stay in their order. */
  #draw(): Map<number, NodeState> {
    const changes = new Map<number, NodeState>()
    const many = this.#dice.pick([1, 1, 3, this.#pending.length])
    for (let i = 0; i < many && this.#pending.length > 0; i++) {
      const { nodeIndex } = this.#dice.pick(this.#pending)
      const at = this.#pending.findIndex((news) => news.nodeIndex === nodeIndex)
      const [news] = this.#pending.splice(at, 1)
      if (!isNodeEnded(changes.get(nodeIndex) ?? 'going')) changes.set(nodeIndex, news!.state)
    }
    return changes
  }

  #step(changes: ReadonlyMap<number, NodeState>, look: readonly number[]): void {
    const { graph, fates, shape } = this.#case
    const before = this.states
    const statusOf = (jobId: string) => statusOfFate[fates[Number(jobId.slice(4))]!]
    const step = stepRun(graph, before, { changes, look, isCancelled: false, statusOf })
    for (const [nodeIndex, state] of before.entries())
      if (isNodeEnded(state)) assert.equal(step.states[nodeIndex], state, 'what has ended stays as it is')
    for (const nodeIndex of step.go) {
      const parents = shape.edges.filter(({ child }) => child === nodeIndex)
      assert.ok(
        parents.every(({ parent, on }) => isMetBy(on, step.states[parent]!)),
        `${nodeIndex} went too early`,
      )
      assert.equal(before[nodeIndex], 'blocked')
      this.went.push(nodeIndex)
      this.#addUpdates(nodeIndex)
    }
    for (const nodeIndex of step.skip) {
      assert.match(
        skipMessageOf(graph, step.states, nodeIndex, (id) => id),
        /^(It runs on |The job was )/,
      )
      this.skipped.push(nodeIndex)
    }
    if (this.over !== null) assert.equal(step.over, this.over, 'it is over once')
    this.states = step.states
    this.over = step.over
  }
}

function startsOf({ before }: Case): number[] {
  return [...before.keys()].filter((nodeIndex) => before[nodeIndex] === 'unfired')
}

function assertOnce(nodeIndexes: readonly number[]): void {
  assert.equal(new Set(nodeIndexes).size, nodeIndexes.length, `${nodeIndexes} has one twice`)
}

function playToEnd(drawn: Case, dice: Dice): Played {
  const played = new Played(drawn, dice)
  // Nodes with all parents outside are checked when the run is made.
  const blocked = [...drawn.before.keys()].filter((nodeIndex) => drawn.before[nodeIndex] === 'blocked')
  played.play(startsOf(drawn), blocked)
  assertOnce(played.went)
  assertOnce(played.skipped)
  return played
}

test('each node ends once and as the rules say, with updates in any order and batches', () => {
  const seen = new Map<string, number>()
  for (let seed = 1; seed <= 1_500; seed++) {
    const drawn = drawCase(new Dice(seed))
    const told = foretell(drawn.shape, drawn.fates, { outside: drawn.outside })
    for (const order of [1, 2]) {
      const played = playToEnd(drawn, new Dice(seed * 10 + order))
      assert.deepEqual(played.states, told.states, `seed ${seed}`)
      assert.equal(played.over, told.status, `seed ${seed}`)
    }
    for (const state of [...told.states, told.status]) seen.set(state, (seen.get(state) ?? 0) + 1)
  }
  const all = [
    'succeeded',
    'failed',
    'timed_out',
    'cancelled',
    'dependency',
    'paused',
    'deleted',
    'unrun',
    'absent',
  ]
  for (const what of [...all, 'SUCCEEDED', 'FAILED', 'CANCELLED'])
    assert.ok((seen.get(what) ?? 0) > 20, `hardly met: ${what}`)
})

test('a resumed run repeats the nodes that did not succeed and the nodes that depend on them, and nothing else', () => {
  let again = 0
  for (let seed = 1; seed <= 500; seed++) {
    const dice = new Dice(seed)
    const drawn = drawCase(dice)
    const { states } = foretell(drawn.shape, drawn.fates, { outside: drawn.outside })
    const nodeIndexes = resumableOf(drawn.graph, states)
    assert.deepEqual(new Set(nodeIndexes), resumableInWords(drawn, states), `seed ${seed}`)
    again += nodeIndexes.length
    const isAgain = new Set(nodeIndexes)
    const isRoot = (nodeIndex: number) => drawn.before[nodeIndex] === 'unfired'
    const before = states.map((state, nodeIndex): NodeState => {
      if (!isAgain.has(nodeIndex)) return state
      return isRoot(nodeIndex) ? 'going' : 'blocked'
    })
    const fates = drawn.fates.map((fate, nodeIndex): Fate => {
      if (!isAgain.has(nodeIndex)) return fate
      return dice.chance(0.2) ? 'failed' : 'succeeded'
    })
    const resumed: Case = { ...drawn, fates, before }
    const kept = new Map(before.entries().filter(([, state]) => isNodeEnded(state)))
    const told = foretell(drawn.shape, fates, { kept, outside: drawn.outside })
    const played = new Played(resumed, dice)
    played.play(nodeIndexes.filter(isRoot), nodeIndexes)
    assertOnce(played.went)
    assert.deepEqual(played.states, told.states, `seed ${seed}`)
    assert.equal(played.over, told.status, `seed ${seed}`)
  }
  assert.ok(again > 1_000, `only ${again} were done again`)
})

/**
 * Every node that did not succeed, and every node below such a node; a node skipped for its parents only in the second
 * case.
 */
function resumableInWords({ shape, outside }: Case, states: readonly NodeState[]): Set<number> {
  const again = new Set<number>()
  // Parents come first, so one pass in order does.
  for (const [nodeIndex, state] of states.entries()) {
    if (outside.has(nodeIndex)) continue
    const hangsOn = shape.edges.some(({ child, parent }) => child === nodeIndex && again.has(parent))
    const isWell = state === 'succeeded' || state === 'dependency'
    if (!isWell || hangsOn) again.add(nodeIndex)
  }
  return again
}

test('a cancelled run lets nothing go any more, and is over when the nodes that went have ended', () => {
  for (let seed = 1; seed <= 200; seed++) {
    const dice = new Dice(seed)
    const { graph, before } = drawCase(dice)
    const going = before.map(
      (state): NodeState => (state === 'unfired' && dice.chance(0.5) ? 'going' : state),
    )
    // Roots that have not fired are not waited for.
    const isLeft = (state: NodeState) => !isNodeEnded(state) && state !== 'unfired'
    const left = dice.shuffle([...going.keys()].filter((nodeIndex) => isLeft(going[nodeIndex]!)))
    let states: readonly NodeState[] = going
    for (const [index, nodeIndex] of left.entries()) {
      const end = states[nodeIndex] === 'going' ? dice.pick(['succeeded', 'cancelled'] as const) : 'cancelled'
      const step = stepRun(graph, states, {
        changes: new Map([[nodeIndex, end]]),
        look: left,
        isCancelled: true,
      })
      assert.deepEqual([step.go, step.skip], [[], []])
      assert.equal(step.over, index === left.length - 1 ? 'CANCELLED' : null)
      states = step.states
    }
  }
})
