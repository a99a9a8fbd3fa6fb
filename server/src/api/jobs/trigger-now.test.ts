import assert from 'node:assert/strict'
import test from 'node:test'
import type { DirectDispatch } from '../../ports/direct-dispatch.ts'
import type { Jobs, TriggerOrder, TriggerOutcome } from '../../ports/jobs.ts'
import type { Claimed, ClaimedLive } from '../../ports/queue.ts'
import { triggerNow } from './trigger-now.ts'

const order: TriggerOrder = { tenantId: 't', jobId: 'j', executionId: 'e', lane: 'shared' }
const name = { workerId: 'w', route: 'server' }
const taken = { executionId: 'e' } as ClaimedLive

function setup(answer: () => Promise<TriggerOutcome>, { hasRoom = true } = {}) {
  const orders: TriggerOrder[] = []
  const ended: (Claimed | null)[] = []
  const jobs = {
    trigger(given: TriggerOrder) {
      orders.push(given)
      return answer()
    },
  } as Jobs
  const direct: DirectDispatch = {
    reserve(count, tenantIds) {
      assert.deepEqual([count, tenantIds], [1, ['t']])
      return hasRoom ? { ...name, end: (claimed) => ended.push(claimed) } : null
    },
  }
  return { stores: { jobs, direct }, orders, ended }
}

const triggered = async (claimed: ClaimedLive | null): Promise<TriggerOutcome> => ({
  ...{ kind: 'triggered', enqueuedAt: 0 as never, runId: null, claimed },
})

test('an execution claimed on insert is passed to the local worker once it is committed', async () => {
  const { stores, orders, ended } = setup(() => triggered(taken))
  await triggerNow(stores, order)
  assert.deepEqual(orders, [{ ...order, direct: name }])
  assert.deepEqual(ended, [{ batches: [], live: [taken] }])
})

test('a trigger that it did not take, or that was refused, leaves no unknown claim', async () => {
  for (const answer of [() => triggered(null), async () => ({ kind: 'not_found' }) as const]) {
    const { stores, ended } = setup(answer)
    await triggerNow(stores, order)
    assert.deepEqual(ended, [{ batches: [], live: [] }])
  }
})

test('when the result of the commit is unknown, the worker is notified of an unknown claim', async () => {
  const { stores, ended } = setup(() => Promise.reject(new Error('no answer')))
  await assert.rejects(triggerNow(stores, order), /no answer/)
  assert.deepEqual(ended, [null])
})

test('a trigger that waits for a locked job keeps no reservation meanwhile', async () => {
  const answers: TriggerOutcome[] = [{ kind: 'locked' }, await triggered(null)]
  const { stores, orders, ended } = setup(async () => answers.shift()!)
  assert.equal((await triggerNow(stores, order)).kind, 'triggered')
  assert.deepEqual(orders, [{ ...order, direct: name }, order])
  assert.deepEqual(ended, [{ batches: [], live: [] }])
})

test('an execution in the lane of its tenant is not claimed on insert', async () => {
  const { stores, orders } = setup(() => triggered(null))
  const own = { ...order, lane: 't' }
  await triggerNow(stores, own)
  assert.deepEqual(orders, [own])
})

test('without a worker with free capacity nothing is claimed on insert', async () => {
  const { stores, orders, ended } = setup(() => triggered(null), { hasRoom: false })
  await triggerNow(stores, order)
  await triggerNow({ jobs: stores.jobs }, order)
  assert.deepEqual(orders, [order, order])
  assert.deepEqual(ended, [])
})
