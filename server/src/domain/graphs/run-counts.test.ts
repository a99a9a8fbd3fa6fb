import assert from 'node:assert/strict'
import test from 'node:test'
import { NODE_LETTERS, type NodeState } from './graph-run.ts'
import { countNodes } from './run-counts.ts'

test('nodes are counted by their status, and skipped ones by their reason', () => {
  const states: NodeState[] = ['succeeded', 'unrun', 'paused', 'dependency', 'dependency', 'failed', 'going']
  const roles = states.map(() => 'inner' as const)
  assert.deepEqual(countNodes(roles, states), {
    nodes: 7,
    counts: { SUCCEEDED: 1, SKIPPED: 4, FAILED: 1, PENDING: 1 },
    skips: { slot: 1, paused: 1, dependency: 2 },
  })
})

test('every SKIPPED node has a skip reason, and no other node has one', () => {
  for (const state of Object.keys(NODE_LETTERS) as NodeState[]) {
    const { counts, skips } = countNodes(['inner'], [state])
    assert.equal(Object.values(skips).length, counts.SKIPPED ?? 0, state)
  }
})

test('outside nodes are not counted', () => {
  const counted = countNodes(['root', 'outside', 'outside'], ['succeeded', 'absent', 'paused'])
  assert.deepEqual(counted, { nodes: 1, counts: { SUCCEEDED: 1 }, skips: {} })
})
