import assert from 'node:assert/strict'
import { test } from 'node:test'
import { changesBetween, hasNullMember, mergePatch } from './diff.ts'

const before = {
  name: 'report',
  tags: ['a', 'b'],
  schedule: { type: 'CRON', cron_expression: '0 9 * * *', timezone: 'UTC' },
  description: 'old',
}
const after = {
  name: 'report',
  tags: ['a', 'c'],
  schedule: { type: 'CRON', cron_expression: '0 10 * * *' },
  priority: 3,
}

test('a diff names each field that changed, came or went, and lists as a whole', () => {
  assert.deepEqual(changesBetween(before, after), [
    { path: 'tags', before: ['a', 'b'], after: ['a', 'c'] },
    { path: 'schedule.cron_expression', before: '0 9 * * *', after: '0 10 * * *' },
    { path: 'schedule.timezone', before: 'UTC', after: undefined },
    { path: 'description', before: 'old', after: undefined },
    { path: 'priority', before: undefined, after: 3 },
  ])
})

test('the order of fields is no change, that of a list is', () => {
  assert.deepEqual(changesBetween({ a: 1, b: { c: 2, d: 3 } }, { b: { d: 3, c: 2 }, a: 1 }), [])
  assert.equal(changesBetween({ a: [1, 2] }, { a: [2, 1] }).length, 1)
  assert.deepEqual(changesBetween({ a: {} }, { a: [] }), [{ path: 'a', before: {}, after: [] }])
})

test('a diff that would never end is cut', () => {
  const many = Object.fromEntries(Array.from({ length: 2_000 }, (_, index) => [`field${index}`, index]))
  assert.equal(changesBetween({}, many).length, 500)
})

test('the merge patch makes the one of the other and says nothing else', () => {
  assert.deepEqual(mergePatch(before, after), {
    tags: ['a', 'c'],
    schedule: { cron_expression: '0 10 * * *', timezone: null },
    description: null,
    priority: 3,
  })
  assert.equal(mergePatch(before, structuredClone(before)), undefined)
  assert.deepEqual(mergePatch({ payload: { a: 1 } }, { payload: 'text' }), { payload: 'text' })
})

test('a null inside an object is found, because a merge patch cannot say it', () => {
  assert.equal(hasNullMember({ a: { b: null } }), true)
  assert.equal(hasNullMember({ a: [null], b: 0 }), false)
  assert.equal(hasNullMember(null), false)
})
