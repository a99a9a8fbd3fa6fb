// The settings of a schedule besides its times: pauses, jitter, max_runs, after_completion.
import assert from 'node:assert/strict'
import test from 'node:test'
import { listSlots, SkipSchedules } from '../../src/api/insights/skipped-slots.ts'
import { dueAtOf } from '../../src/domain/schedule/jitter.ts'
import { epochMs } from '../../src/lib/time/epoch.ts'
import { change, pause, resume } from '../conformance/jobs/changes.ts'
import { openScene, timeOf } from './scene.ts'

const from10 = { start_at: '2026-01-02T10:00:00Z' } as const
const everyMinute = { type: 'CRON', cron_expression: '* * * * *', ...from10 } as const
const every10 = { type: 'CRON', cron_expression: '*/10 * * * * *', ...from10 } as const

test('a pause is not a misfire: its slots are skipped as paused, and resume fires none of them', async () => {
  const scene = await openScene()
  const job = await scene.createJob(everyMinute, { misfirePolicy: 'FIRE_ALL' })
  await scene.runTo('10:01:30')
  await change(scene, job, pause())
  await scene.runTo('10:10:30')
  await change(scene, job, resume())
  await scene.runTo('10:12:30')
  assert.deepEqual(await scene.ranOf(job), [
    '10:00:00 SUCCEEDED 10:00:00 to 10:00:00',
    '10:01:00 SUCCEEDED 10:01:00 to 10:01:00',
    '10:11:00 SUCCEEDED 10:11:00 to 10:11:00',
    '10:12:00 SUCCEEDED 10:12:00 to 10:12:00',
  ])
  assert.deepEqual(await scene.skipsOf(job), ['paused 9: 10:02:00 to 10:10:00'])
})

test('a one-second job that is paused for a month costs one range, which is listed slot by slot', async () => {
  const scene = await openScene()
  const everySecond = { type: 'CRON', cron_expression: '* * * * * *', ...from10 } as const
  const job = await scene.createJob(everySecond)
  await scene.runTo('10:00:10.500')
  await change(scene, job, pause())
  // Nobody needs to be there meanwhile.
  scene.shut()
  await scene.world.advance(30 * 86_400_000)
  await scene.boot()
  await change(scene, job, resume())
  // Until the new server holds the partitions of the old one.
  await scene.world.advance(30_000)
  assert.deepEqual(await scene.skipsOf(job), ['paused 2592000: 10:00:11 to 2026-02-01T10:00:10Z'])
  assert.deepEqual(
    (await scene.executionsOf(job)).slice(10, 12).map(({ slot, status }) => `${timeOf(slot)} ${status}`),
    ['10:00:10 SUCCEEDED', '2026-02-01T10:00:11Z SUCCEEDED'],
  )
  const { tenantId, jobId } = job
  const window = { from: epochMs(0), to: epochMs(Date.UTC(2026, 0, 20, 12)) }
  const ranges = await scene.tables.slotLedger.listSkips({ tenantId, jobId, ...window, limit: 10 })
  const { slots, more } = listSlots(new SkipSchedules(jobId), ranges!, { window, limit: 3 })
  assert.deepEqual(
    slots.map(({ at, reason }) => `${reason} ${timeOf(at)}`),
    ['paused 2026-01-20T12:00:00Z', 'paused 2026-01-20T11:59:59Z', 'paused 2026-01-20T11:59:58Z'],
  )
  assert.equal(more, true)
})

test('with jitter a slot keeps its time and starts when it is due', async () => {
  const scene = await openScene()
  const job = await scene.createJob(everyMinute, { jitterSeconds: 50 })
  await scene.runTo('10:04:59')
  const executions = await scene.executionsOf(job)
  assert.deepEqual(
    executions.map(({ slot }) => timeOf(slot)),
    ['10:00:00', '10:01:00', '10:02:00', '10:03:00', '10:04:00'],
  )
  for (const { slot, startedAt } of executions) assert.equal(startedAt, dueAtOf(job, slot))
  assert(new Set(executions.map(({ slot, startedAt }) => startedAt! - slot)).size > 1)
})

test('with jitter a slot that is not due yet when the scheduler comes back is not late', async () => {
  const scene = await openScene()
  const job = await scene.createJob(everyMinute, { jitterSeconds: 50, misfirePolicy: 'SKIP' })
  const dueAt = dueAtOf(job, scene.at('10:02:00'))
  assert(dueAt > scene.at('10:02:05'), 'else this test would say nothing')
  scene.shut()
  await scene.runTo('10:02:03')
  await scene.boot()
  await scene.runTo('10:02:59')
  const executions = await scene.executionsOf(job)
  // 10:01 was due less than a minute ago, 10:00 was not.
  assert.deepEqual(
    executions.map(({ slot }) => timeOf(slot)),
    ['10:01:00', '10:02:00'],
  )
  assert.equal(executions[1]!.startedAt, dueAt)
  assert.deepEqual(await scene.skipsOf(job), ['misfire 1: 10:00:00 to 10:00:00'])
})

test('max_runs: after so many runs the job is completed', async () => {
  const scene = await openScene()
  const job = await scene.createJob({ ...every10, max_runs: 3 })
  await scene.runTo('10:05:00')
  assert.deepEqual(await scene.ranOf(job), [
    '10:00:00 SUCCEEDED 10:00:00 to 10:00:00',
    '10:00:10 SUCCEEDED 10:00:10 to 10:00:10',
    '10:00:20 SUCCEEDED 10:00:20 to 10:00:20',
  ])
  assert.deepEqual(await scene.skipsOf(job), [])
  assert.equal(await scene.statusOf(job), 'COMPLETED')
})

test('max_runs: a slot that is skipped is no run', async () => {
  const scene = await openScene()
  const job = await scene.createJob({ ...every10, max_runs: 3 }, { takesSeconds: 15 })
  await scene.runTo('10:05:00')
  assert.deepEqual(await scene.ranOf(job), [
    '10:00:00 SUCCEEDED 10:00:00 to 10:00:15',
    '10:00:20 SUCCEEDED 10:00:20 to 10:00:35',
    '10:00:40 SUCCEEDED 10:00:40 to 10:00:55',
  ])
  assert.deepEqual(await scene.skipsOf(job), [
    'overlap 1: 10:00:10 to 10:00:10',
    'overlap 1: 10:00:30 to 10:00:30',
  ])
  assert.equal(await scene.statusOf(job), 'COMPLETED')
})

for (const overlapPolicy of ['ALLOW', 'SKIP', 'BUFFER_ALL'] as const) {
  test(`max_runs: late slots count too, and no more run than that, under ${overlapPolicy}`, async () => {
    const scene = await openScene()
    const job = await scene.createJob({ ...every10, max_runs: 4 }, { overlapPolicy })
    await scene.runTo('10:00:05')
    scene.jumpClockTo('10:01:05')
    await scene.runTo('10:05:00')
    assert.deepEqual(
      (await scene.executionsOf(job)).map(({ slot, status }) => `${timeOf(slot)} ${status}`),
      ['10:00:00 SUCCEEDED', '10:00:10 SUCCEEDED', '10:00:20 SUCCEEDED', '10:00:30 SUCCEEDED'],
    )
    assert.deepEqual(await scene.skipsOf(job), [])
    assert.equal(await scene.statusOf(job), 'COMPLETED')
  })
}

const afterCompletion = { type: 'INTERVAL', every_seconds: 30, after_completion: true } as const

test('after_completion: the interval counts from the end of the last execution', async () => {
  const scene = await openScene()
  const job = await scene.createJob({ ...afterCompletion, max_runs: 4 }, { takesSeconds: 7 })
  await scene.runTo('10:10:00')
  assert.deepEqual(await scene.ranOf(job), [
    '09:59:30 SUCCEEDED 09:59:30 to 09:59:37',
    '10:00:07 SUCCEEDED 10:00:07 to 10:00:14',
    '10:00:44 SUCCEEDED 10:00:44 to 10:00:51',
    '10:01:21 SUCCEEDED 10:01:21 to 10:01:28',
  ])
  assert.deepEqual(await scene.skipsOf(job), [])
  assert.equal(await scene.statusOf(job), 'COMPLETED')
})

for (const [misfirePolicy, ran, skips] of [
  ['FIRE_ONCE', ['10:00:07 SUCCEEDED 10:05:00 to 10:05:07', '10:05:37 SUCCEEDED 10:05:37 to 10:05:44'], []],
  ['SKIP', ['10:05:30 SUCCEEDED 10:05:30 to 10:05:37'], ['misfire 1: 10:00:07 to 10:00:07']],
] as const) {
  test(`after_completion: after a hold-up ${misfirePolicy} goes on from there`, async () => {
    const scene = await openScene()
    const job = await scene.createJob(afterCompletion, { takesSeconds: 7, misfirePolicy })
    await scene.runTo('10:00:00')
    // The scheduler sees the jump a second later, and trusts its clock again after three more and one look.
    scene.jumpClockTo('10:04:55')
    await scene.runTo('10:05:50')
    assert.deepEqual(await scene.ranOf(job), ['09:59:30 SUCCEEDED 09:59:30 to 09:59:37', ...ran])
    assert.deepEqual(await scene.skipsOf(job), skips)
  })
}

test('after_completion: an excluded slot is recorded, and the next comes an interval later', async () => {
  const scene = await openScene()
  const exclusions = [{ from: '2026-01-02T10:00:00Z', to: '2026-01-02T10:01:00Z' }]
  const job = await scene.createJob({ ...afterCompletion, exclusions }, { takesSeconds: 7 })
  await scene.runTo('10:01:30')
  assert.deepEqual(await scene.ranOf(job), [
    '09:59:30 SUCCEEDED 09:59:30 to 09:59:37',
    '10:01:07 SUCCEEDED 10:01:07 to 10:01:14',
  ])
  assert.deepEqual(await scene.skipsOf(job), [
    'exclusion 1: 10:00:07 to 10:00:07',
    'exclusion 1: 10:00:37 to 10:00:37',
  ])
})

for (const [when, triggerAt, skipped] of [
  ['its first slot', '09:59:28', '09:59:30'],
  ['a later one', '10:00:05', '10:00:07'],
] as const) {
  test(`after_completion: after ${when} was skipped because of a trigger the job goes on`, async () => {
    const scene = await openScene()
    const job = await scene.createJob({ ...afterCompletion, max_runs: 2 }, { takesSeconds: 7 })
    await scene.runTo(triggerAt)
    await scene.trigger(job)
    await scene.runTo('10:05:00')
    assert.deepEqual(await scene.skipsOf(job), [`overlap 1: ${skipped} to ${skipped}`])
    const slots = (await scene.executionsOf(job)).filter(({ kind }) => kind === 'slot')
    assert.equal(slots.length, 2, 'what was skipped was no run')
    assert.equal(await scene.statusOf(job), 'COMPLETED')
  })
}
