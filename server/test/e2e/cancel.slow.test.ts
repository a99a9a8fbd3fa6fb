// Cancels that meet the ends of executions, over HTTP, against a real target: whichever comes first decides, once.
import assert from 'node:assert/strict'
import test from 'node:test'
import { type ExecutionItem, until } from './api.ts'
import { type Cancelled, createJob, start } from './cancel-scene.ts'
import { startReceiver } from './receiver.ts'

test('a thousand cancels against a thousand executions that end at the same moment: one outcome each', async (t) => {
  const { api, cancel } = await start(t)
  const count = 1_000
  const receiver = await startReceiver(t)
  const jobId = await createJob(api, receiver.url)
  // Each is cancelled a little after it was made: some wait still, some run, some are over.
  const answers = new Map<string, Cancelled>()
  let made = 0
  const one = async () => {
    while (made < count) {
      made += 1
      const { execution_id: id } = await api.post<{ execution_id: string }>(`/jobs/${jobId}/trigger`, {}, 202)
      for (let turns = made % 7; turns > 0; turns--) await new Promise(setImmediate)
      answers.set(id, await cancel(id))
    }
  }
  await Promise.all(Array.from({ length: 32 }, one))
  const finals = new Map<string, ExecutionItem>()
  await until(async () => {
    for (const id of answers.keys()) {
      if (finals.has(id)) continue
      const item = await api.get<ExecutionItem>(`/executions/${id}`)
      if (!['SUCCEEDED', 'CANCELLED'].includes(item.status)) return null
      finals.set(id, item)
    }
    return true
  }, 'all are over')
  assert.equal(finals.size, count)
  const seen = { acknowledged: 0, refused: 0 }
  for (const [id, { status, body }] of answers) {
    const final = finals.get(id)!.status
    if (status === 409) {
      seen.refused += 1
      assert.deepEqual([body.code, final], ['EXECUTION_FINISHED', 'SUCCEEDED'], id)
    } else {
      seen.acknowledged += 1
      assert.deepEqual([status, final], [body.status === 'CANCELLING' ? 202 : 200, 'CANCELLED'], id)
    }
    assert.deepEqual((await cancel(id)).status, status === 409 ? 409 : 200, 'the answer is final')
  }
  assert(seen.acknowledged > 0, JSON.stringify(seen))
  const listed = await api.get<{ pagination: { total: number } }>(
    `/jobs/${jobId}/executions?status=CANCELLED`,
  )
  assert.equal(listed.pagination.total, seen.acknowledged)
})
