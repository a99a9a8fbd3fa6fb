import assert from 'node:assert/strict'
import { test } from 'node:test'
import { changesBetween, mergePatch } from './merge-patch.ts'

const before = { name: 'a', tags: ['x'], schedule: { cron: '0 2 * * *', zone: 'UTC' }, priority: 3 }

test('a merge patch names the fields that differ, and has null for removed ones', () => {
  const after = { name: 'a', tags: ['x', 'y'], schedule: { cron: '0 3 * * *' } }
  assert.deepEqual(mergePatch(before, after), {
    tags: ['x', 'y'],
    schedule: { cron: '0 3 * * *', zone: null },
    priority: null,
  })
  assert.equal(mergePatch(before, structuredClone(before)), null)
})

test('changes are listed by path, with the old and the new value', () => {
  const after = { name: 'b', tags: ['x'], schedule: { cron: '0 2 * * *', zone: 'UTC', start: 1 } }
  assert.deepEqual(changesBetween(before, after), [
    { path: 'name', from: 'a', to: 'b' },
    { path: 'schedule.start', to: 1 },
    { path: 'priority', from: 3 },
  ])
})
