import assert from 'node:assert/strict'
import test from 'node:test'
import { createScenario } from '../../test/conformance/scenario.ts'
import { createVirtualWorld } from '../../test/virtual-world.ts'
import { openMemoryStore } from '../../testing/memory-store/open-memory-store.ts'
import { deleteJob } from '../domain/jobs/job-change.ts'
import { LaneChooser } from '../domain/queue/lane.ts'
import { defaultTenantId } from '../domain/tenants/tenant.ts'
import type { NewJob } from '../ports/jobs.ts'
import { redriveDue } from './redrive-due.ts'

async function setup() {
  const world = createVirtualWorld()
  const { store, ...ports } = openMemoryStore(world.clock)
  const now = async () => world.clock.databaseNow()
  const scenario = await createScenario({ ...ports, ids: world.ids, now })
  const ready: string[] = []
  const { deadLetters } = ports
  const deps = { ...world, deadLetters, lanes: new LaneChooser(), onReady: () => void ready.push('ready') }
  const retryPolicy = { max_retries: 0, backoff: 'FIXED', initial_delay_ms: 1, max_delay_ms: 1 } as const
  const createJob = (afterSeconds: number | null) =>
    scenario.createJob({
      retryPolicy: {
        ...retryPolicy,
        ...(afterSeconds !== null && { auto_redrive_after_seconds: afterSeconds }),
      },
    })
  /** Runs each job once, in vain. */
  const bury = async (jobs: readonly NewJob[]): Promise<string[]> => {
    const workerId = await scenario.addWorker()
    const { executionIds } = await scenario.fireBatch(jobs, 0)
    const claimed = await scenario.claimBatch(workerId)
    await scenario.finishBatch(workerId, claimed, scenario.failed({ deadReason: 'MAX_RETRIES_EXCEEDED' }))
    return executionIds
  }
  const letter = (id: string) => deadLetters.get(defaultTenantId, id)
  return { ...scenario, world, store, ready, createJob, bury, letter, redrive: () => redriveDue(deps) }
}

test('a dead letter is redriven by itself at its time, if its job says so', async () => {
  const { createJob, bury, letter, redrive, world, ready, store } = await setup()
  const [own, others] = await bury([await createJob(60), await createJob(null)])
  assert.equal(await redrive(), 'idle')
  await world.advance(59_999)
  await redrive()
  assert.notEqual(await letter(own!), null)
  assert.deepEqual(ready, [])
  await world.advance(1)
  assert.equal(await redrive(), 'idle')
  assert.equal(await letter(own!), null)
  assert.notEqual(await letter(others!), null)
  assert.deepEqual(ready, ['ready'])
  assert.deepEqual(
    [...store.live.values()].map((one) => [one.kind, one.retryOf]),
    [['redrive', own]],
  )
})

test('the letter of a deleted job is left alone, and asked about once', async () => {
  const { createJob, bury, letter, redrive, world, ready, jobs, deadLetters } = await setup()
  const job = await createJob(60)
  const [executionId] = await bury([job])
  const target = { tenantId: defaultTenantId, jobId: job.jobId }
  await jobs.change(target, (state) => deleteJob(state, { by: 'ann' }))
  await world.advance(60_000)
  assert.equal(await redrive(), 'idle')
  assert.notEqual(await letter(executionId!), null)
  assert.deepEqual(await deadLetters.findDue(10), [])
  assert.deepEqual(ready, [])
})

test('more than two hundred at once are redriven in several goes', async () => {
  const { createJob, bury, redrive, world, deadLetters } = await setup()
  for (let batch = 0; batch < 3; batch++) {
    const jobs: NewJob[] = []
    for (let i = 0; i < 100; i++) jobs.push(await createJob(1))
    await bury(jobs)
  }
  await world.advance(1_000)
  assert.equal(await redrive(), 'more')
  assert.equal(await redrive(), 'idle')
  assert.deepEqual(await deadLetters.findDue(10), [])
})
