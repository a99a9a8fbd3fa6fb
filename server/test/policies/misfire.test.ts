// Each misfire policy after each kind of outage: the records are the same, regardless of the cause of the delay.
import assert from 'node:assert/strict'
import test from 'node:test'
import type { MisfirePolicy } from '../../src/domain/jobs/job.ts'
import { openScene, type Scene, timeOf } from './scene.ts'

/** From 10:00:30 to 10:10:30 nothing fires. */
const outages: Record<string, (scene: Scene) => Promise<void>> = {
  async 'downtime of the scheduler'(scene) {
    scene.shut()
    await scene.runTo('10:10:30')
    await scene.boot()
  },
  async 'an outage of the database'(scene) {
    scene.setAway(true)
    await scene.runTo('10:10:30')
    scene.setAway(false)
  },
  async 'a jump of the database clock'(scene) {
    scene.jumpClockTo('10:10:30')
  },
}

/** A slot each minute from 10:00 to 10:12: 10:01 to 10:09 are misfired then, 10:10 is only late. */
const schedule = {
  type: 'CRON',
  cron_expression: '* * * * *',
  start_at: '2026-01-02T10:00:00Z',
  end_at: '2026-01-02T10:12:00Z',
} as const

const expected: Record<MisfirePolicy, { ran: string[]; skips: string[] }> = {
  FIRE_ONCE: {
    ran: [
      '10:00:00 SUCCEEDED in 10:00',
      '10:09:00 SUCCEEDED in 10:10',
      '10:10:00 SUCCEEDED in 10:10',
      '10:11:00 SUCCEEDED in 10:11',
      '10:12:00 SUCCEEDED in 10:12',
    ],
    skips: ['misfire 8: 10:01:00 to 10:08:00'],
  },
  FIRE_ALL: {
    ran: [
      '10:00:00 SUCCEEDED in 10:00',
      '10:01:00 SUCCEEDED in 10:10',
      '10:02:00 SUCCEEDED in 10:10',
      '10:03:00 SUCCEEDED in 10:10',
      '10:04:00 SUCCEEDED in 10:10',
      '10:05:00 SUCCEEDED in 10:10',
      '10:06:00 SUCCEEDED in 10:10',
      '10:07:00 SUCCEEDED in 10:10',
      '10:08:00 SUCCEEDED in 10:10',
      '10:09:00 SUCCEEDED in 10:10',
      '10:10:00 SUCCEEDED in 10:10',
      '10:11:00 SUCCEEDED in 10:11',
      '10:12:00 SUCCEEDED in 10:12',
    ],
    skips: [],
  },
  SKIP: {
    ran: [
      '10:00:00 SUCCEEDED in 10:00',
      '10:10:00 SUCCEEDED in 10:10',
      '10:11:00 SUCCEEDED in 10:11',
      '10:12:00 SUCCEEDED in 10:12',
    ],
    skips: ['misfire 9: 10:01:00 to 10:09:00'],
  },
}

for (const [kind, holdUp] of Object.entries(outages)) {
  for (const [misfirePolicy, records] of Object.entries(expected) as [MisfirePolicy, never][]) {
    test(`${misfirePolicy} after ${kind}`, async () => {
      const scene = await openScene()
      const job = await scene.createJob(schedule, { misfirePolicy, takesSeconds: 1 })
      await scene.runTo('10:00:30')
      await holdUp(scene)
      await scene.runTo('10:20:00')
      const executions = await scene.executionsOf(job)
      // How soon a loop finds the store again is its own affair: the minute is the same.
      const ran = executions.map(
        ({ slot, status, startedAt }) => `${timeOf(slot)} ${status} in ${timeOf(startedAt!).slice(0, 5)}`,
      )
      assert.deepEqual({ ran, skips: await scene.skipsOf(job) }, records)
      assert.equal(await scene.statusOf(job), 'COMPLETED')
      executions.slice(1).forEach(({ startedAt }, i) => {
        assert(startedAt! >= executions[i]!.finishedAt!, 'each waits for the one before')
      })
    })
  }
}

test('FIRE_ALL starts ten a second, also where all may run at once', async () => {
  const scene = await openScene()
  const job = await scene.createJob(schedule, { misfirePolicy: 'FIRE_ALL', overlapPolicy: 'ALLOW' })
  await scene.runTo('10:00:30')
  // The scheduler sees the jump a second later, and trusts its clock again after three more and one look.
  scene.jumpClockTo('10:10:25')
  await scene.runTo('10:10:45')
  assert.deepEqual(await scene.ranOf(job), [
    '10:00:00 SUCCEEDED 10:00:00 to 10:00:00',
    '10:01:00 SUCCEEDED 10:10:30 to 10:10:30',
    '10:02:00 SUCCEEDED 10:10:30.100 to 10:10:30.100',
    '10:03:00 SUCCEEDED 10:10:30.200 to 10:10:30.200',
    '10:04:00 SUCCEEDED 10:10:30.300 to 10:10:30.300',
    '10:05:00 SUCCEEDED 10:10:30.400 to 10:10:30.400',
    '10:06:00 SUCCEEDED 10:10:30.500 to 10:10:30.500',
    '10:07:00 SUCCEEDED 10:10:30.600 to 10:10:30.600',
    '10:08:00 SUCCEEDED 10:10:30.700 to 10:10:30.700',
    '10:09:00 SUCCEEDED 10:10:30.800 to 10:10:30.800',
    '10:10:00 SUCCEEDED 10:10:30.900 to 10:10:30.900',
  ])
})

test('late slots wait for each other instead of skipping each other', async () => {
  const scene = await openScene()
  const every10 = { ...schedule, cron_expression: '*/10 * * * * *', end_at: '2026-01-02T10:00:40Z' }
  const job = await scene.createJob(every10, { takesSeconds: 15 })
  await scene.runTo('09:59:50')
  scene.jumpClockTo('10:00:40')
  await scene.runTo('10:05:00')
  assert.deepEqual(await scene.ranOf(job), [
    '10:00:00 SUCCEEDED 10:00:45 to 10:01:00',
    '10:00:10 SUCCEEDED 10:01:00 to 10:01:15',
    '10:00:20 SUCCEEDED 10:01:15 to 10:01:30',
    '10:00:30 SUCCEEDED 10:01:30 to 10:01:45',
    '10:00:40 SUCCEEDED 10:01:45 to 10:02:00',
  ])
  assert.deepEqual(await scene.skipsOf(job), [])
})

test('FIRE_ALL loses no slot that comes on time while it catches up', async () => {
  const scene = await openScene()
  const every5 = { ...schedule, cron_expression: '*/5 * * * * *', end_at: '2026-01-02T10:10:00Z' }
  const job = await scene.createJob(every5, { misfirePolicy: 'FIRE_ALL', takesSeconds: 3 })
  await scene.runTo('10:00:02')
  scene.shut()
  await scene.runTo('10:02:02')
  await scene.boot()
  await scene.runTo('10:20:00')
  assert.deepEqual(await scene.skipsOf(job), [])
  const executions = await scene.executionsOf(job)
  assert.equal(executions.length, 121)
  executions.slice(1).forEach(({ slot, startedAt }, i) => {
    assert(slot > executions[i]!.slot && startedAt! >= executions[i]!.finishedAt!, 'in order, one by one')
  })
})

test('a late slot waits for the running execution, where one on time would be skipped', async () => {
  const scene = await openScene()
  const every10 = { ...schedule, cron_expression: '*/10 * * * * *', end_at: '2026-01-02T10:00:30Z' }
  const job = await scene.createJob(every10, { takesSeconds: 15 })
  await scene.runTo('10:00:05')
  // The call goes on for its other ten seconds.
  scene.jumpClockTo('10:00:44')
  await scene.runTo('10:05:00')
  const [first, ...late] = await scene.ranOf(job)
  assert.match(first!, /^10:00:00 SUCCEEDED 10:00:00 /)
  assert.deepEqual(late, [
    '10:00:10 SUCCEEDED 10:00:54 to 10:01:09',
    '10:00:20 SUCCEEDED 10:01:09 to 10:01:24',
    '10:00:30 SUCCEEDED 10:01:24 to 10:01:39',
  ])
  assert.deepEqual(await scene.skipsOf(job), [])
})

test('excluded slots are recorded as excluded, wherever they lie among the missed slots', async () => {
  for (const [misfirePolicy, ran, skips] of [
    [
      'FIRE_ONCE',
      ['10:09:00', '10:10:00'],
      [
        'misfire 2: 10:01:00 to 10:02:00',
        'exclusion 3: 10:03:00 to 10:05:00',
        'misfire 3: 10:06:00 to 10:08:00',
      ],
    ],
    [
      'FIRE_ALL',
      ['10:01:00', '10:02:00', '10:06:00', '10:07:00', '10:08:00', '10:09:00', '10:10:00'],
      ['exclusion 3: 10:03:00 to 10:05:00'],
    ],
    [
      'SKIP',
      ['10:10:00'],
      [
        'misfire 2: 10:01:00 to 10:02:00',
        'exclusion 3: 10:03:00 to 10:05:00',
        'misfire 4: 10:06:00 to 10:09:00',
      ],
    ],
  ] as const) {
    const scene = await openScene()
    const exclusions = [{ from: '2026-01-02T10:03:00Z', to: '2026-01-02T10:06:00Z' }]
    const job = await scene.createJob({ ...schedule, exclusions }, { misfirePolicy })
    await scene.runTo('10:00:30')
    scene.jumpClockTo('10:10:30')
    await scene.runTo('10:10:59')
    const slots = (await scene.executionsOf(job)).map(({ slot }) => timeOf(slot))
    assert.deepEqual(slots, ['10:00:00', ...ran])
    assert.deepEqual(await scene.skipsOf(job), skips)
  }
})

for (const [ageSeconds, misfirePolicy, ran] of [
  [1_800, 'FIRE_ONCE', true],
  [1_800, 'FIRE_ALL', true],
  [1_800, 'SKIP', false],
  [30, 'SKIP', true],
  [86_460, 'FIRE_ONCE', false],
] as const) {
  test(`ONE_TIME ${ageSeconds} s in the past ${ran ? 'runs at once' : 'is skipped'} under ${misfirePolicy}`, async () => {
    const scene = await openScene()
    await scene.runTo('10:00:00')
    const slot = timeOf(scene.at('10:00:00', -ageSeconds))
    const scheduled_time = slot.includes('T') ? slot : `2026-01-02T${slot}Z`
    const job = await scene.createJob({ type: 'ONE_TIME', scheduled_time }, { misfirePolicy })
    await scene.runTo('10:00:10')
    const executions = await scene.executionsOf(job)
    assert.deepEqual(
      executions.map((one) => [timeOf(one.slot), one.status, timeOf(one.startedAt!).slice(0, 5)]),
      ran ? [[slot, 'SUCCEEDED', '10:00']] : [],
    )
    assert.deepEqual(await scene.skipsOf(job), ran ? [] : [`misfire 1: ${slot} to ${slot}`])
    assert.equal(await scene.statusOf(job), 'COMPLETED')
  })
}
