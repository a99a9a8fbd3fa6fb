import assert from 'node:assert/strict'
import test from 'node:test'
import type { JobStatus } from '../jobs/job.ts'
import {
  type Dependency,
  type Edge,
  type GraphJob,
  type GraphPart,
  type GraphRefusal,
  graphEdgesMax,
  graphNodesMax,
  isGraphRefusal,
  planDependencies,
  planRemoval,
} from './graph.ts'

/** 'b>a c>a,b': b depends on a, and c on a and b. Each is in the graph that it belongs to. */
function part(text: string, statuses: Record<string, JobStatus> = {}): GraphPart {
  const given = text.split(' ').map((word) => {
    const [id, parents] = word.split('>')
    return { jobId: id!, parents: parents?.split(',') ?? [] }
  })
  const edges = given.flatMap(({ jobId, parents }) =>
    parents.map((parentId): Edge => ({ parentId, childId: jobId, on: 'success' })),
  )
  const alone = given.map(({ jobId }): GraphJob => {
    const status = statuses[jobId] ?? 'ACTIVE'
    return { jobId, name: jobId.toUpperCase(), status, graphId: null }
  })
  return { jobs: alone.map((job) => ({ ...job, graphId: leastAround(job.jobId, edges) })), edges }
}

/** Told apart from the code under test: grown edge by edge until nothing is added. */
function leastAround(jobId: string, edges: readonly Edge[]): string | null {
  const members = new Set([jobId])
  for (let size = 0; size < members.size; ) {
    size = members.size
    for (const { parentId, childId } of edges) {
      if (members.has(parentId)) members.add(childId)
      if (members.has(childId)) members.add(parentId)
    }
  }
  return members.size === 1 ? null : [...members].toSorted()[0]!
}

const on = (...jobIds: string[]): Dependency[] => jobIds.map((jobId) => ({ jobId, on: 'completion' }))

/** The jobs that are in another graph than before. */
function moved(given: GraphPart, jobId: string, ...parentIds: string[]) {
  const plan = planDependencies(given, { jobId, dependsOn: on(...parentIds) })
  assert('graphIds' in plan, JSON.stringify(plan))
  return Object.fromEntries(plan.graphIds)
}

function refused(given: GraphPart, jobId: string, ...parentIds: string[]): GraphRefusal {
  const plan = planDependencies(given, { jobId, dependsOn: on(...parentIds) })
  assert('kind' in plan)
  return plan
}

function cycleOf(given: GraphPart, jobId: string, ...parentIds: string[]): string {
  const refusal = refused(given, jobId, ...parentIds)
  assert(refusal.kind === 'cycle')
  for (const { jobId: id, name } of refusal.path) assert.equal(name, id.toUpperCase())
  return refusal.path.map((one) => one.jobId).join(' ')
}

test('two jobs become a graph, which has the least id in it', () => {
  assert.deepEqual(moved(part('a b'), 'b', 'a'), { a: 'a', b: 'a' })
  assert.deepEqual(moved(part('a b'), 'a', 'b'), { a: 'a', b: 'a' })
})

test('only the job that joins a graph changes its graph id, unless it has the least id', () => {
  assert.deepEqual(moved(part('a b>a c'), 'c', 'b'), { c: 'a' })
  assert.deepEqual(moved(part('a b c>b'), 'a', 'c'), { a: 'a', b: 'a', c: 'a' })
})

test('a job that depends on jobs of two graphs makes one of them', () => {
  assert.deepEqual(moved(part('a b>a c d>c e'), 'e', 'b', 'd'), { c: 'a', d: 'a', e: 'a' })
})

test('a job that drops the dependency between two parts leaves two graphs', () => {
  const given = part('a b>a c>b,d d e>d')
  assert.deepEqual(moved(given, 'c', 'b'), { d: 'd', e: 'd' })
  assert.deepEqual(moved(given, 'c', 'd'), { c: 'c', d: 'c', e: 'c' })
  assert.deepEqual(moved(given, 'c'), { c: null, d: 'd', e: 'd' })
})

test('a graph of two that is undone leaves none', () => {
  assert.deepEqual(moved(part('a b>a'), 'b'), { a: null, b: null })
})

test('another rule, or another way between the same jobs, changes no graph', () => {
  assert.deepEqual(moved(part('a b>a c>b'), 'b', 'a'), {})
  assert.deepEqual(moved(part('a b>a c>b'), 'c', 'a'), {})
})

test('a cycle is spelled out from the job to the job, each before the job that runs after it', () => {
  assert.equal(cycleOf(part('a'), 'a', 'a'), 'a a')
  assert.equal(cycleOf(part('a b>a'), 'a', 'b'), 'a b a')
  assert.equal(cycleOf(part('a b>a c>b d>c'), 'a', 'd'), 'a b c d a')
})

test('of several cycles the shortest is told', () => {
  assert.equal(cycleOf(part('a b>a c>b d>c,a'), 'a', 'd'), 'a d a')
  assert.equal(cycleOf(part('a b>a c>b'), 'a', 'c', 'b'), 'a b a')
})

test('a former dependency of a job makes no cycle any more', () => {
  assert.deepEqual(moved(part('a b>a c>b x'), 'b', 'x'), { a: null, x: 'b', b: 'b', c: 'b' })
  // b lets go of a, which may then depend on b; not in one step the other way round.
  assert.equal(cycleOf(part('a b>a'), 'a', 'b'), 'a b a')
})

test('a diamond is no cycle', () => {
  assert.deepEqual(moved(part('a b>a c>a d'), 'd', 'b', 'c'), { d: 'a' })
})

test('a job that is not there, or is deleted, cannot be depended on', () => {
  assert.deepEqual(refused(part('a b'), 'b', 'a', 'x'), { kind: 'unknown_parent', jobId: 'x' })
  const given = part('a b', { a: 'DELETED' })
  assert.deepEqual(refused(given, 'b', 'a'), { kind: 'unknown_parent', jobId: 'a' })
  assert.deepEqual(moved(part('a b', { a: 'PAUSED' }), 'b', 'a'), { a: 'a', b: 'a' })
  assert.deepEqual(moved(part('a b', { a: 'COMPLETED' }), 'b', 'a'), { a: 'a', b: 'a' })
})

test('a graph has no more than a thousand jobs', () => {
  const ids = Array.from({ length: graphNodesMax }, (_, n) => `j${String(n).padStart(4, '0')}`)
  const full = part([ids[0], ...ids.slice(1).map((id) => `${id}>${ids[0]}`), 'x'].join(' '))
  assert.deepEqual(refused(full, 'x', ids[5]!), { kind: 'too_large', jobs: graphNodesMax + 1 })
  const room = part([ids[0], ...ids.slice(2).map((id) => `${id}>${ids[0]}`), 'x'].join(' '))
  assert.deepEqual(moved(room, 'x', ids[5]!), { x: ids[0] })
  // A dependency that is removed at the same time does not count.
  assert.deepEqual(moved(full, ids[7]!, 'x'), { [ids[7]!]: ids[7], x: ids[7] })
})

test('a graph has at most so many dependencies, and one that has more may lose some', () => {
  const ids = Array.from({ length: 150 }, (_, n) => `j${String(n).padStart(4, '0')}`)
  const jobs = ids.map((jobId) => ({ jobId, name: jobId, status: 'ACTIVE', graphId: ids[0]! }) as const)
  const all = ids.flatMap((childId, n) =>
    ids.slice(0, n).map((parentId) => ({ parentId, childId, on: 'success' }) as const),
  )
  const on = (parents: readonly string[]) => parents.map((jobId) => ({ jobId, on: 'success' }) as const)
  const last = ids.at(-1)!
  const edges = all.slice(0, graphEdgesMax).filter(({ childId }) => childId !== last)
  const room = graphEdgesMax - edges.length
  const plan = (count: number) =>
    planDependencies({ jobs, edges }, { jobId: last, dependsOn: on(ids.slice(0, count)) })
  assert(!isGraphRefusal(plan(room)))
  assert.deepEqual(plan(room + 1), { kind: 'too_many_edges', edges: graphEdgesMax + 1 })
  const fewer = planDependencies({ jobs, edges: all }, { jobId: last, dependsOn: on(ids.slice(0, 148)) })
  assert(!isGraphRefusal(fewer))
})

test('a job on which others depend is not removed, and they are named', () => {
  const given = part('a c>a b>a d>b')
  const jobs = [
    { jobId: 'b', name: 'B' },
    { jobId: 'c', name: 'C' },
  ]
  assert.deepEqual(planRemoval(given, 'a'), { kind: 'has_dependents', jobs })
  assert.deepEqual(planRemoval(given, 'b'), { kind: 'has_dependents', jobs: [{ jobId: 'd', name: 'D' }] })
})

test('a job that is removed leaves its graph, and the parts that only it held together are separate graphs', () => {
  const graphs = (given: GraphPart, jobId: string) => {
    const plan = planRemoval(given, jobId)
    assert('graphIds' in plan)
    return Object.fromEntries(plan.graphIds)
  }
  assert.deepEqual(graphs(part('a b>a'), 'b'), { a: null, b: null })
  assert.deepEqual(graphs(part('a b>a c>b'), 'c'), { c: null })
  assert.deepEqual(graphs(part('a b>a c d>c e>b,d'), 'e'), { c: 'c', d: 'c', e: null })
})
