import assert from 'node:assert/strict'
import test from 'node:test'
import { Dice } from '../../../test/fuzz/dice.ts'
import { randomShape } from '../../../test/graphs/random-graph.ts'
import { epochMs } from '../../lib/time/epoch.ts'
import { hasSlotAt } from '../jobs/same-slots.ts'
import type { Edge } from './graph.ts'
import {
  draftRun,
  isNodeEnded,
  type MemberJob,
  NODE_LETTERS,
  type NodeState,
  nodeStateOf,
  RunGraph,
  type RunNode,
  type RunStart,
  resumableOf,
  runIdOfOwnSlot,
  runIdOfSlot,
  skipMessageOf,
  statusOfNode,
  stepRun,
} from './graph-run.ts'

const anchorAt = epochMs(Date.UTC(2026, 0, 1))

/** A run that starts with this root, two minutes after all were made. */
function startOf(rootId: string, kind: RunStart['kind']): RunStart {
  return { rootId, kind, hasSlot: (job) => hasSlotAt(job, epochMs(anchorAt + 120_000)) }
}

function memberOf(jobId: string, everySeconds: number): MemberJob {
  const schedule = { type: 'INTERVAL', every_seconds: everySeconds } as MemberJob['schedule']
  return { jobId, version: 3, name: jobId, schedule, anchorAt, status: 'ACTIVE' }
}

/** From a text such as 'a b>a c>a,b'; `on` after a colon, else success. */
function readGraph(text: string): { members: MemberJob[]; edges: Edge[] } {
  const parts = text.split(' ').map((part) => part.split('>'))
  const edges = parts.flatMap(([childId, parents]) =>
    (parents?.split(',') ?? []).map((parent): Edge => {
      const [parentId, on = 'success'] = parent.split(':')
      return { parentId: parentId!, childId: childId!, on: on as Edge['on'] }
    }),
  )
  return { members: parts.map(([jobId]) => memberOf(jobId!, 60)), edges }
}

function graphOf(text: string): RunGraph {
  const { members, edges } = readGraph(text)
  const draft = draftRun(members, edges, startOf(members[0]!.jobId, 'slot'))
  const nodes = draft.nodes.map((node): RunNode => ({ ...node, executionId: null }))
  return new RunGraph({ nodes, edges: draft.edges })
}

function rolesOf(text: string, start: RunStart): string[] {
  const { members, edges } = readGraph(text)
  return draftRun(members, edges, start).nodes.map(({ jobId, role }) => `${jobId} ${role}`)
}

test('the run of a slot has a valid id that is the same for all roots and sorts by the slot', () => {
  const graphId = '0190a1b2-0000-7000-8000-000000000001'
  const slots = [0, 1, 999, 86_400_000, Date.UTC(2026, 0, 1), Date.UTC(2026, 0, 1) + 1, Date.UTC(2999, 0, 1)]
  const ids = slots.map((slot) => runIdOfSlot(graphId, epochMs(slot)))
  for (const id of ids) assert.match(id, /^[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/)
  assert.deepEqual(ids.toSorted(), ids)
  assert.equal(runIdOfSlot(graphId, epochMs(999)), ids[2])
  assert.notEqual(runIdOfSlot(graphId.replace('1', '2'), epochMs(999)), ids[2])
})

test('a slot starts all roots with its schedule; a trigger only its own, and counts the others from outside', () => {
  const text = 'a b c>a d>a,b e>d'
  assert.deepEqual(rolesOf(text, startOf('a', 'slot')), ['a root', 'b root', 'c inner', 'd inner', 'e inner'])
  for (const kind of ['trigger', 'backfill'] as const) {
    const roles = ['a root', 'c inner', 'd inner', 'e inner', 'b outside']
    assert.deepEqual(rolesOf(text, startOf('a', kind)), roles)
  }
})

test('a root without the slot of a run is outside of it; a root with the slot starts it too, regardless of its other slots', () => {
  const { edges } = readGraph('a b c>a,b')
  const rolesWith = (everySeconds: number, changes: Partial<MemberJob> = {}) => {
    const members = [memberOf('a', 60), { ...memberOf('b', everySeconds), ...changes }, memberOf('c', 60)]
    return draftRun(members, edges, startOf('a', 'slot')).nodes.map(({ jobId, role }) => `${jobId} ${role}`)
  }
  assert.deepEqual(rolesWith(61), ['a root', 'c inner', 'b outside'])
  assert.deepEqual(rolesWith(40), ['a root', 'b root', 'c inner'])
  const { schedule } = memberOf('b', 40)
  const fromEnd = { schedule: { ...schedule, after_completion: true } as MemberJob['schedule'] }
  assert.deepEqual(rolesWith(40, fromEnd), ['a root', 'c inner', 'b outside'])
})

test('a root that counts from its last end shares its runs with nobody', () => {
  const { edges } = readGraph('a b c>a,b')
  const [a, b, c] = [memberOf('a', 60), memberOf('b', 60), memberOf('c', 60)]
  const first = { ...a, schedule: { ...a.schedule, after_completion: true } as MemberJob['schedule'] }
  const { nodes } = draftRun([first, b, c], edges, startOf('a', 'slot'))
  assert.deepEqual(
    nodes.map(({ jobId, role }) => `${jobId} ${role}`),
    ['a root', 'c inner', 'b outside'],
  )
  const slot = epochMs(60_000)
  const ids = [runIdOfSlot('a', slot), runIdOfOwnSlot('a', 'a', slot), runIdOfOwnSlot('a', 'b', slot)]
  assert.equal(new Set(ids).size, ids.length)
})

test('a root that found no place in the run of its slot shares its run with no other root', () => {
  assert.deepEqual(rolesOf('a b c>a,b', startOf('a', 'slot')), ['a root', 'b root', 'c inner'])
  const start = { ...startOf('a', 'slot'), isAlone: true }
  assert.deepEqual(rolesOf('a b c>a,b', start), ['a root', 'c inner', 'b outside'])
})

test('a root that is in no graph any more, or depends on others by now, still has its run', () => {
  assert.deepEqual(rolesOf('a', startOf('a', 'slot')), ['a root'])
  const { members, edges } = readGraph('a>z z b>a')
  const { nodes, edges: pinned } = draftRun(members, edges, startOf('a', 'trigger'))
  assert.deepEqual(
    nodes.map(({ jobId, role }) => `${jobId} ${role}`),
    ['a root', 'b inner'],
  )
  assert.deepEqual(pinned, [{ parent: 0, child: 1, on: 'success' }])
})

test('a run has all that its roots reach, by the way that leads there, and no dependency is lost', () => {
  for (let seed = 1; seed <= 300; seed++) {
    const dice = new Dice(seed)
    const roots = dice.between(1, 4)
    const shape = randomShape(dice, 40, roots)
    const idOf = (nodeIndex: number) => `job ${nodeIndex}`
    const members = Array.from({ length: shape.nodes }, (_, nodeIndex) =>
      memberOf(idOf(nodeIndex), 60 + dice.below(2)),
    )
    const edges = shape.edges.map(({ parent, child, on }) => ({
      parentId: idOf(parent),
      childId: idOf(child),
      on,
    }))
    const kind = dice.pick(['slot', 'trigger'] as const)
    const draft = draftRun(dice.shuffle(members), edges, startOf(idOf(0), kind))
    const isStart = (nodeIndex: number) =>
      nodeIndex === 0 ||
      (kind === 'slot' && nodeIndex < roots && members[nodeIndex]!.schedule.every_seconds === 60)
    // Parents come first, so one pass in order does.
    const reached = new Set<number>()
    for (let nodeIndex = 0; nodeIndex < shape.nodes; nodeIndex++) {
      const isReached = shape.edges.some(({ parent, child }) => child === nodeIndex && reached.has(parent))
      if (isReached || isStart(nodeIndex)) reached.add(nodeIndex)
    }
    const needed = shape.edges.filter(({ child }) => reached.has(child))
    const roles = new Map(draft.nodes.map(({ jobId, role }) => [jobId, role]))
    assert.equal(roles.size, draft.nodes.length)
    for (let nodeIndex = 0; nodeIndex < shape.nodes; nodeIndex++) {
      const isParent = needed.some(({ parent }) => parent === nodeIndex)
      const other = isParent ? 'outside' : undefined
      const role = isStart(nodeIndex) ? 'root' : reached.has(nodeIndex) ? 'inner' : other
      assert.equal(roles.get(idOf(nodeIndex)), role, `seed ${seed}: ${nodeIndex}`)
    }
    const pinned = draft.edges.map(({ parent, child, on }) => [
      draft.nodes[parent]!.jobId,
      draft.nodes[child]!.jobId,
      on,
    ])
    const wanted = needed.map(({ parent, child, on }) => [idOf(parent), idOf(child), on])
    assert.deepEqual(pinned.toSorted(), wanted.toSorted(), `seed ${seed}`)
  }
})

test('a fan-in goes once, with the last of its parents', () => {
  const graph = graphOf('a b>a c>a d>b,c')
  const news = (nodeIndex: number, state: NodeState) => ({
    changes: new Map([[nodeIndex, state]]),
    look: [],
    isCancelled: false,
  })
  const first = stepRun(graph, ['going', 'blocked', 'blocked', 'blocked'], news(0, 'succeeded'))
  assert.deepEqual(first.go, [1, 2])
  const second = stepRun(graph, first.states, news(1, 'succeeded'))
  assert.deepEqual([second.go, second.over], [[], null])
  const third = stepRun(graph, second.states, news(2, 'succeeded'))
  assert.deepEqual(third.go, [3])
  assert.deepEqual(stepRun(graph, third.states, news(2, 'succeeded')).go, [])
  assert.equal(stepRun(graph, third.states, news(3, 'succeeded')).over, 'SUCCEEDED')
})

test('every dependency rule is met by exactly the outcomes that it names', () => {
  const ends = (Object.keys(NODE_LETTERS) as NodeState[]).filter(isNodeEnded)
  const metBy = (on: string) =>
    ends.filter((end) => {
      const graph = graphOf(`a b>a:${on}`)
      return (
        stepRun(graph, [end, 'blocked'], { changes: new Map(), look: [1], isCancelled: false }).go.length ===
        1
      )
    })
  assert.deepEqual(metBy('success'), ['succeeded'])
  assert.deepEqual(metBy('failure'), ['failed', 'timed_out'])
  assert.deepEqual(metBy('completion'), ['succeeded', 'failed', 'timed_out'])
})

test('a skipped node says why it was skipped', () => {
  const graph = graphOf('a b>a c>a:failure')
  const messageOf = (states: NodeState[], nodeIndex: number) =>
    skipMessageOf(graph, states, nodeIndex, (jobId) => `job ${jobId}`)
  assert.equal(
    messageOf(['failed', 'dependency', 'blocked'], 1),
    'It runs on success of "job a", which ended FAILED.',
  )
  assert.equal(
    messageOf(['succeeded', 'blocked', 'dependency'], 2),
    'It runs on failure of "job a", which ended SUCCEEDED.',
  )
  for (const [state, word] of [
    ['unrun', 'slot'],
    ['dependency', 'dependency'],
    ['paused', 'paused'],
    ['deleted', 'deleted'],
  ] as const) {
    const message = `It runs on success of "job a", which was skipped (${word}).`
    assert.equal(messageOf([state, 'dependency', 'blocked'], 1), message)
  }
  const absent = 'It runs on success of "job a", of which no execution has ended.'
  assert.equal(messageOf(['absent', 'dependency', 'blocked'], 1), absent)
  assert.equal(messageOf(['succeeded', 'paused', 'blocked'], 1), 'The job was paused when its turn came.')
  assert.equal(messageOf(['succeeded', 'deleted', 'blocked'], 1), 'The job was deleted when its turn came.')
})

test('a node ends with the final outcome of its execution', () => {
  assert.deepEqual(
    (['succeeded', 'failed', 'timed_out', 'cancelled', 'lost'] as const).map((end) => nodeStateOf(end, null)),
    ['succeeded', 'failed', 'timed_out', 'cancelled', 'failed'],
  )
  assert.deepEqual(
    (['dependency', 'paused', 'deleted'] as const).map((reason) =>
      statusOfNode(nodeStateOf('skipped', reason)),
    ),
    ['SKIPPED', 'SKIPPED', 'SKIPPED'],
  )
})

test('states are stored as letters of their own', () => {
  const letters = Object.values(NODE_LETTERS)
  assert.equal(new Set(letters).size, letters.length)
  assert.ok(letters.every((letter) => letter.length === 1))
})

test('a run in which all is well has nothing to resume, nor has a run with a branch that was not taken', () => {
  assert.deepEqual(resumableOf(graphOf('a b>a'), ['succeeded', 'succeeded']), [])
  assert.deepEqual(resumableOf(graphOf('a b>a:failure c>b'), ['succeeded', 'dependency', 'dependency']), [])
})
