import assert from 'node:assert/strict'
import test from 'node:test'
import { assertProblem, setupApp } from '../../../test/app.ts'

const first = '0192abcd-ef01-7000-8000-000000000001'
const second = '0192abcd-ef01-7000-8000-000000000002'

test('operators see which scheduler holds which partition', async (t) => {
  const { call, memory } = await setupApp(t)
  const { partitions } = memory
  await partitions.join(first)
  await partitions.join(second)
  await partitions.take(first, [0, 2])
  await partitions.take(second, [63])
  await memory.historyProcesses.beat(first)
  const list = (await call('GET', '/partitions')).json()
  assert.equal(list.partitions.length, 64)
  assert.deepEqual(list.history_processes, [first])
  assert.deepEqual(list.row_security, { active: true, reason: null, remedy: null })
  assert.deepEqual(list.partitions.slice(0, 3), [
    { partition_id: 0, scheduler_id: first },
    { partition_id: 1, scheduler_id: null },
    { partition_id: 2, scheduler_id: first },
  ])
  assert.deepEqual(list.schedulers, [
    { scheduler_id: first, partitions: 2 },
    { scheduler_id: second, partitions: 1 },
  ])
  const { key } = (await call('POST', '/api-keys', { name: 'a', scopes: ['read'] })).json()
  const theirs = await call('GET', '/partitions', undefined, { authorization: `Bearer ${key}` })
  assertProblem(theirs, 'OPERATOR_ONLY')
})
