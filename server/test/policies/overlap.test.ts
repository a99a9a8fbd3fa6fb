// Each overlap policy with the same job: a slot every 10 seconds, each execution takes 24.
import assert from 'node:assert/strict'
import test from 'node:test'
import type { OverlapPolicy } from '../../src/domain/jobs/job.ts'
import { openScene } from './scene.ts'

/** Slots at 10:00:00 to 10:00:50. */
const schedule = {
  type: 'CRON',
  cron_expression: '*/10 * * * * *',
  start_at: '2026-01-02T10:00:00Z',
  end_at: '2026-01-02T10:00:50Z',
} as const

async function runWith(overlapPolicy: OverlapPolicy) {
  const scene = await openScene()
  const job = await scene.createJob(schedule, { overlapPolicy, takesSeconds: 24 })
  await scene.runTo('10:05:00')
  assert.equal(await scene.statusOf(job), 'COMPLETED')
  return { ran: await scene.ranOf(job), skips: await scene.skipsOf(job) }
}

test('ALLOW: each slot runs when it comes, beside the others', async () => {
  assert.deepEqual(await runWith('ALLOW'), {
    ran: [
      '10:00:00 SUCCEEDED 10:00:00 to 10:00:24',
      '10:00:10 SUCCEEDED 10:00:10 to 10:00:34',
      '10:00:20 SUCCEEDED 10:00:20 to 10:00:44',
      '10:00:30 SUCCEEDED 10:00:30 to 10:00:54',
      '10:00:40 SUCCEEDED 10:00:40 to 10:01:04',
      '10:00:50 SUCCEEDED 10:00:50 to 10:01:14',
    ],
    skips: [],
  })
})

test('SKIP: slots that come due while an execution runs are skipped, adjacent ones as one range', async () => {
  assert.deepEqual(await runWith('SKIP'), {
    ran: ['10:00:00 SUCCEEDED 10:00:00 to 10:00:24', '10:00:30 SUCCEEDED 10:00:30 to 10:00:54'],
    skips: ['overlap 2: 10:00:10 to 10:00:20', 'overlap 2: 10:00:40 to 10:00:50'],
  })
})

test('BUFFER_ONE: one slot waits, and slots after it are skipped', async () => {
  assert.deepEqual(await runWith('BUFFER_ONE'), {
    ran: [
      '10:00:00 SUCCEEDED 10:00:00 to 10:00:24',
      '10:00:10 SUCCEEDED 10:00:24 to 10:00:48',
      '10:00:30 SUCCEEDED 10:00:48 to 10:01:12',
      '10:00:50 SUCCEEDED 10:01:12 to 10:01:36',
    ],
    skips: ['overlap 1: 10:00:20 to 10:00:20', 'overlap 1: 10:00:40 to 10:00:40'],
  })
})

test('BUFFER_ALL: every slot waits for the one before', async () => {
  assert.deepEqual(await runWith('BUFFER_ALL'), {
    ran: [
      '10:00:00 SUCCEEDED 10:00:00 to 10:00:24',
      '10:00:10 SUCCEEDED 10:00:24 to 10:00:48',
      '10:00:20 SUCCEEDED 10:00:48 to 10:01:12',
      '10:00:30 SUCCEEDED 10:01:12 to 10:01:36',
      '10:00:40 SUCCEEDED 10:01:36 to 10:02:00',
      '10:00:50 SUCCEEDED 10:02:00 to 10:02:24',
    ],
    skips: [],
  })
})

test('CANCEL_RUNNING: the running execution is cancelled in favour of the new slot', async () => {
  assert.deepEqual(await runWith('CANCEL_RUNNING'), {
    ran: [
      '10:00:00 CANCELLED 10:00:00 to 10:00:10',
      '10:00:10 CANCELLED 10:00:10 to 10:00:20',
      '10:00:20 CANCELLED 10:00:20 to 10:00:30',
      '10:00:30 CANCELLED 10:00:30 to 10:00:40',
      '10:00:40 CANCELLED 10:00:40 to 10:00:50',
      '10:00:50 SUCCEEDED 10:00:50 to 10:01:14',
    ],
    skips: [],
  })
})

for (const overlapPolicy of ['SKIP', 'BUFFER_ONE', 'BUFFER_ALL'] as const) {
  test(`${overlapPolicy}: a trigger is not skipped, it waits for the running execution`, async () => {
    const scene = await openScene()
    const once = { ...schedule, cron_expression: '0 0 10 * * *' }
    const job = await scene.createJob(once, { overlapPolicy, takesSeconds: 24 })
    await scene.runTo('10:00:05')
    await scene.trigger(job)
    await scene.runTo('10:05:00')
    assert.deepEqual(await scene.ranOf(job), [
      '10:00:00 SUCCEEDED 10:00:00 to 10:00:24',
      'trigger 10:00:05 SUCCEEDED 10:00:24 to 10:00:48',
    ])
  })
}
