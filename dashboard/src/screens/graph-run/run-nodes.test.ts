// The view of a run between two reads, the nodes that a resume would run again, and where arrow keys lead.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { layOut } from '../../../test/lay-out.ts'
import type { ToldExecution } from '../../live/told-execution.ts'
import { besideOf, isResumeStart, type RunNode, reachedFrom, resumableOf, withTold } from './run-nodes.ts'
import { boundsOf, firstView, fitView, reveal, seenRect, zoomAt } from './viewport.ts'

function node(job_id: string, parents: string[], given: Partial<RunNode> = {}): RunNode {
  return {
    job_id,
    job_name: job_id,
    job_version: 1,
    role: parents.length === 0 ? 'root' : 'inner',
    status: 'SUCCEEDED',
    skip_reason: null,
    skip_message: null,
    depends_on: parents.map((parent) => ({ job_id: parent, on: 'success' })),
    execution_id: `x-${job_id}`,
    attempt_number: 1,
    enqueued_at: null,
    started_at: null,
    finished_at: null,
    duration_ms: null,
    error: null,
    replaced: [],
    ...given,
  }
}

const told = { started_at: null, finished_at: null, duration_ms: 12 }

test('a resume runs unsuccessful nodes and all behind them, also nodes that ran because of the failure', () => {
  const nodes = [
    node('extract', []),
    node('clean', ['extract'], { status: 'FAILED' }),
    node('alert', ['clean']),
    node('load', ['clean'], { status: 'SKIPPED', skip_reason: 'dependency' }),
    node('not taken', ['extract'], { status: 'SKIPPED', skip_reason: 'dependency' }),
    node('paused', ['extract'], { status: 'SKIPPED', skip_reason: 'paused' }),
    node('other', [], { role: 'outside', status: 'FAILED' }),
  ]
  assert.deepEqual([...resumableOf(nodes)].toSorted(), ['alert', 'clean', 'load', 'paused'])
  assert.deepEqual(
    nodes.filter(isResumeStart).map(({ job_id }) => job_id),
    ['clean', 'paused'],
  )
  assert.deepEqual([...reachedFrom(nodes, ['clean'])].toSorted(), ['alert', 'clean', 'load'])
})

test('a run in which all succeeded has nothing to resume', () => {
  assert.equal(resumableOf([node('a', []), node('b', ['a'])]).size, 0)
})

test('the stream moves a node on, and never back', () => {
  const nodes = [
    node('a', [], { status: 'RUNNING' }),
    node('b', [], { status: 'SUCCEEDED' }),
    node('c', [], { status: 'RUNNING', attempt_number: 2 }),
    node('d', [], { status: 'PENDING', execution_id: null }),
  ]
  const news = new Map<string, ToldExecution>([
    ['x-a', { ...told, status: 'FAILED', attempt_number: 1 }],
    ['x-b', { ...told, status: 'RUNNING', attempt_number: 1 }],
    ['x-c', { ...told, status: 'FAILED', attempt_number: 1 }],
    ['x-d', { ...told, status: 'RUNNING', attempt_number: 1 }],
  ])
  const now = withTold(nodes, news)
  assert.deepEqual(
    now.map(({ status }) => status),
    ['FAILED', 'SUCCEEDED', 'RUNNING', 'PENDING'],
  )
  assert.equal(now[0]!.duration_ms, 12)
})

test('arrow keys lead to dependencies, dependents and neighbours', () => {
  const layout = layOut([
    { id: 'a', parents: [] },
    { id: 'b', parents: ['a'] },
    { id: 'c', parents: ['a'] },
  ])
  const right = besideOf(layout, 'a', 'right')
  assert.ok(right === 'b' || right === 'c')
  assert.equal(besideOf(layout, 'c', 'left'), 'a')
  assert.equal(besideOf(layout, 'a', 'left'), null)
  assert.notEqual(besideOf(layout, 'b', 'down') ?? besideOf(layout, 'b', 'up'), null)
  assert.equal(besideOf(layout, 'nobody', 'up'), null)
})

test('a drawing is fitted into the middle and not enlarged', () => {
  assert.deepEqual(fitView({ width: 100, height: 50 }, { width: 300, height: 150 }), {
    scale: 1,
    x: 100,
    y: 50,
  })
  const small = fitView({ width: 1_000, height: 10 }, { width: 532, height: 300 })
  assert.equal(small.scale, 0.5)
  const first = firstView({ width: 1_000, height: 10 }, { width: 532, height: 300 })
  assert.ok(first.scale > small.scale && first.x > 0, 'what would be too small begins at its beginning')
})

test('zooming keeps the point under the pointer', () => {
  const view = { x: 10, y: 20, scale: 1 }
  const zoomed = zoomAt(view, { x: 110, y: 120 }, 2)
  assert.equal((110 - zoomed.x) / zoomed.scale, 100)
  assert.equal((120 - zoomed.y) / zoomed.scale, 100)
  assert.ok(zoomAt(view, { x: 0, y: 0 }, 1e9).scale < 10)
})

test('a node outside is moved into the box by no more than needed, one inside not at all', () => {
  const box = { width: 200, height: 100 }
  const view = { x: 0, y: 0, scale: 1 }
  assert.deepEqual(reveal(view, { x: 50, y: 30, width: 20, height: 20 }, box), view)
  assert.deepEqual(reveal(view, { x: 300, y: 30, width: 20, height: 20 }, box), { x: -136, y: 0, scale: 1 })
  assert.deepEqual(seenRect({ x: -100, y: 0, scale: 2 }, box), { x: 50, y: -0, width: 100, height: 50 })
  assert.deepEqual(
    boundsOf([
      { x: 0, y: 0, width: 10, height: 10 },
      { x: 30, y: 5, width: 10, height: 10 },
    ]),
    { x: 0, y: 0, width: 40, height: 15 },
  )
  assert.equal(boundsOf([]), null)
})
