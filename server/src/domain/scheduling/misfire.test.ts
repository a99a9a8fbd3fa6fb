import assert from 'node:assert/strict'
import test from 'node:test'
import { MISFIRE_POLICIES } from '@carillon/contract/constants.ts'
import { type EpochMs, epochMs, toRfc3339 } from '../../lib/time/epoch.ts'
import { hourMs } from '../../lib/time/units.ts'
import { compileSchedule } from '../schedule/compile-schedule.ts'
import { dueAtOf } from '../schedule/jitter.ts'
import type { CompiledSchedule } from '../schedule/next-run.ts'
import { type LateJob, misfireWindowMs, planLate, type SkippedSlots } from './misfire.ts'

const misfireAfterMs = 60_000
const createdAt = epochMs(Date.UTC(2026, 0, 1))

function compile(schedule: unknown): CompiledSchedule {
  const compiled = compileSchedule(schedule, { createdAt, jobId: 'a job' })
  assert(compiled.ok)
  return compiled.value.compiled
}

/** `exclusions` are written '10:02 to 10:05' for 2 January. */
function cron(expression: string, exclusions: string[] = [], timezone = 'UTC'): CompiledSchedule {
  const windows = exclusions.map((text) => {
    const [from, to] = text.split(' to ').map((time) => `2026-01-02T${time}:00Z`)
    return { from, to }
  })
  return compile({ type: 'CRON', cron_expression: expression, timezone, exclusions: windows })
}

const everySecond = cron('* * * * * *')
const everyMinute = cron('* * * * *')
const hourly = cron('0 * * * *')
const daily = cron('0 9 * * *')

/** A time of 2 January, or an instant with its day. */
function at(text: string): EpochMs {
  return epochMs(Date.parse(text.includes('T') ? text : `2026-01-02T${text}Z`))
}

function textOf(slot: EpochMs): string {
  const text = toRfc3339(slot)
  return text.startsWith('2026-01-02T') ? text.slice(11, -1) : text
}

interface Case {
  schedule: CompiledSchedule
  from: string
  now: string
  policy?: LateJob['misfirePolicy']
  windowMs?: number
}

/** The plan in a form one can read. */
function plan({ schedule, from, now, policy = 'FIRE_ONCE', windowMs = hourMs }: Case) {
  const job = { jobId: 'a job', schedule, jitterSeconds: 0, misfirePolicy: policy, windowMs }
  const { skipped, runs } = planLate(job, { from: at(from), now: at(now), misfireAfterMs })
  const range = ({ from, to, count, reason }: SkippedSlots) =>
    `${reason} ${count}: ${textOf(from)} to ${textOf(to)}`
  return {
    skipped: skipped.map(range),
    runs: runs && `${textOf(runs.first)} to ${textOf(runs.last)}`,
    paceMs: runs?.paceMs ?? null,
  }
}

/** A plan without a pace. */
const unpaced = (skipped: string[], runs: string) => ({ skipped, runs, paceMs: 0 })
const none = (...skipped: string[]) => ({ skipped, runs: null, paceMs: null })

test('before its slot a job owes nothing', () => {
  assert.deepEqual(plan({ schedule: hourly, from: '10:00:00', now: '09:59:59.999' }), none())
})

test('a slot that is due this very millisecond runs', () => {
  const schedule = hourly
  assert.deepEqual(plan({ schedule, from: '10:00:00', now: '10:00:00' }), unpaced([], '10:00:00 to 10:00:00'))
})

test('one late slot runs, whether it is misfired or not', () => {
  for (const now of ['10:00:03', '10:30:00']) {
    assert.deepEqual(plan({ schedule: hourly, from: '10:00:00', now }), unpaced([], '10:00:00 to 10:00:00'))
  }
})

for (const policy of MISFIRE_POLICIES) {
  test(`slots missed within the last minute all run under ${policy}`, () => {
    assert.deepEqual(
      plan({ schedule: everySecond, from: '10:00:00', now: '10:01:00', policy }),
      unpaced([], '10:00:00 to 10:01:00'),
    )
  })
}

test('a slot is misfired when it is older than a minute, not when it is exactly a minute old', () => {
  const from = '10:00:00'
  // 10:00:00 alone is misfired, and as the latest of them it runs.
  assert.deepEqual(
    plan({ schedule: everySecond, from, now: '10:01:00.001' }),
    unpaced([], '10:00:00 to 10:01:00'),
  )
  assert.deepEqual(
    plan({ schedule: everySecond, from, now: '10:01:01.001' }),
    unpaced(['misfire 1: 10:00:00 to 10:00:00'], '10:00:01 to 10:01:01'),
  )
})

// Ten minutes behind, a slot each minute: 10:00 to 10:09 are misfired, 10:10 is young.
for (const [policy, expected] of [
  ['FIRE_ONCE', unpaced(['misfire 9: 10:00:00 to 10:08:00'], '10:09:00 to 10:10:00')],
  ['FIRE_ALL', { skipped: [], runs: '10:00:00 to 10:10:00', paceMs: 100 }],
  ['SKIP', unpaced(['misfire 10: 10:00:00 to 10:09:00'], '10:10:00 to 10:10:00')],
] as const) {
  test(`of misfired slots ${policy} runs the ones it promises, and with them every younger one`, () => {
    assert.deepEqual(plan({ schedule: everyMinute, from: '10:00:00', now: '10:10:30', policy }), expected)
  })
}

// The same with 10:02 to 10:05 excluded, which are 10:02, 10:03 and 10:04, and the latest misfired ones too.
for (const [policy, expected] of [
  [
    'FIRE_ONCE',
    unpaced(
      [
        'misfire 2: 10:00:00 to 10:01:00',
        'exclusion 3: 10:02:00 to 10:04:00',
        'misfire 2: 10:05:00 to 10:06:00',
      ],
      '10:07:00 to 10:10:00',
    ),
  ],
  ['FIRE_ALL', { skipped: [], runs: '10:00:00 to 10:10:00', paceMs: 100 }],
  [
    'SKIP',
    unpaced(
      [
        'misfire 2: 10:00:00 to 10:01:00',
        'exclusion 3: 10:02:00 to 10:04:00',
        'misfire 3: 10:05:00 to 10:07:00',
        'exclusion 2: 10:08:00 to 10:09:00',
      ],
      '10:10:00 to 10:10:00',
    ),
  ],
] as const) {
  test(`under ${policy} excluded slots are recorded as such, and the first slot to run is not excluded`, () => {
    const schedule = cron('* * * * *', ['10:02 to 10:05', '10:08 to 10:10'])
    assert.deepEqual(plan({ schedule, from: '10:00:00', now: '10:10:30', policy }), expected)
  })
}

test('excluded slots before the first that runs are recorded also where nothing is misfired', () => {
  const schedule = cron('*/5 * * * * *', ['10:00 to 10:01'])
  assert.deepEqual(
    plan({ schedule, from: '10:00:40', now: '10:01:10' }),
    unpaced(['exclusion 4: 10:00:40 to 10:00:55'], '10:01:00 to 10:01:10'),
  )
})

test('when all are excluded nothing runs', () => {
  const schedule = cron('* * * * *', ['09:00 to 11:00'])
  for (const policy of MISFIRE_POLICIES) {
    assert.deepEqual(
      plan({ schedule, from: '10:00:00', now: '10:10:30', policy }),
      none('exclusion 11: 10:00:00 to 10:10:00'),
    )
  }
})

test('when the remaining slots are excluded, the reasons stand in order', () => {
  const schedule = cron('* * * * *', ['10:05 to 11:00'])
  assert.deepEqual(
    plan({ schedule, from: '10:00:00', now: '10:10:30', policy: 'SKIP' }),
    none('misfire 5: 10:00:00 to 10:04:00', 'exclusion 6: 10:05:00 to 10:10:00'),
  )
})

test('windows without a slot in them or between them make no ranges of their own', () => {
  // 10:01 and 10:02 lie in two windows with nothing between them; the third window holds no slot.
  const schedule = cron('* * * * *', ['10:01 to 10:02', '10:02 to 10:03'])
  const seconds = compile({
    type: 'CRON',
    cron_expression: '* * * * *',
    exclusions: [
      { from: '2026-01-02T10:00:30Z', to: '2026-01-02T10:01:10Z' },
      { from: '2026-01-02T10:01:50Z', to: '2026-01-02T10:02:10Z' },
      { from: '2026-01-02T10:04:10Z', to: '2026-01-02T10:04:50Z' },
    ],
  })
  for (const one of [schedule, seconds]) {
    assert.deepEqual(
      plan({ schedule: one, from: '10:00:00', now: '10:06:30', policy: 'SKIP' }),
      unpaced(
        [
          'misfire 1: 10:00:00 to 10:00:00',
          'exclusion 2: 10:01:00 to 10:02:00',
          'misfire 3: 10:03:00 to 10:05:00',
        ],
        '10:06:00 to 10:06:00',
      ),
    )
  }
})

test('a year of misfires is counted exactly', () => {
  assert.deepEqual(
    plan({ schedule: everySecond, from: '2025-01-02T10:00:00Z', now: '10:00:00' }),
    unpaced([`misfire ${365 * 86_400 - 61}: 2025-01-02T10:00:00Z to 09:58:58`], '09:58:59 to 10:00:00'),
  )
})

test('FIRE_ALL runs at most a thousand misfired slots, the latest', () => {
  const base = { from: '2025-01-02T10:00:00Z', now: '10:00:00', policy: 'FIRE_ALL' } as const
  // 09:58:59 is the latest misfired one; 999 seconds before it is 09:42:20.
  assert.deepEqual(plan({ schedule: everySecond, ...base }), {
    skipped: [`misfire ${365 * 86_400 - 60 - 1_000}: 2025-01-02T10:00:00Z to 09:42:19`],
    runs: '09:42:20 to 10:00:00',
    paceMs: 100,
  })
  // Excluded slots do not count towards the thousand: ten minutes further back.
  assert.deepEqual(plan({ schedule: cron('* * * * * *', ['09:45 to 09:55']), ...base }), {
    skipped: [`misfire ${365 * 86_400 - 60 - 1_600}: 2025-01-02T10:00:00Z to 09:32:19`],
    runs: '09:32:20 to 10:00:00',
    paceMs: 100,
  })
  // Exactly a thousand are not cut.
  assert.deepEqual(plan({ schedule: everySecond, ...base, from: '09:42:20' }), {
    skipped: [],
    runs: '09:42:20 to 10:00:00',
    paceMs: 100,
  })
})

for (const policy of ['FIRE_ONCE', 'FIRE_ALL'] as const) {
  test(`under ${policy} a misfired slot runs up to the end of the window and not after`, () => {
    const from = '09:00:00'
    const { runs } = plan({ schedule: daily, from, now: '10:00:00', policy })
    assert.equal(runs, '09:00:00 to 09:00:00')
    assert.deepEqual(
      plan({ schedule: daily, from, now: '10:00:00.001', policy }),
      none('misfire 1: 09:00:00 to 09:00:00'),
    )
  })
}

test('FIRE_ALL runs only the slots within the window', () => {
  const windowMs = 5 * 60_000
  assert.deepEqual(
    plan({ schedule: everyMinute, from: '10:00:00', now: '10:10:00', policy: 'FIRE_ALL', windowMs }),
    {
      skipped: ['misfire 5: 10:00:00 to 10:04:00'],
      runs: '10:05:00 to 10:10:00',
      paceMs: 100,
    },
  )
})

test('of the misfired ones the latest that is not excluded runs only if it lies within the window', () => {
  const schedule = cron('* * * * *', ['10:03 to 10:10'])
  const late = { schedule, from: '10:00:00', now: '10:10:00' }
  const windowMs = 8 * 60_000
  assert.deepEqual(
    plan({ ...late, windowMs }),
    unpaced(['misfire 2: 10:00:00 to 10:01:00'], '10:02:00 to 10:10:00'),
  )
  assert.deepEqual(
    plan({ ...late, windowMs: windowMs - 1 }),
    unpaced(['misfire 3: 10:00:00 to 10:02:00', 'exclusion 7: 10:03:00 to 10:09:00'], '10:10:00 to 10:10:00'),
  )
})

test('outside the window all misfired slots are skipped, the latest too, and younger ones run all the same', () => {
  for (const windowMs of [30_000, 0]) {
    for (const policy of MISFIRE_POLICIES) {
      assert.deepEqual(
        plan({ schedule: everyMinute, from: '10:00:00', now: '10:10:30', windowMs, policy }),
        unpaced(['misfire 10: 10:00:00 to 10:09:00'], '10:10:00 to 10:10:00'),
      )
    }
  }
})

test('a sparse schedule outside its window is skipped altogether', () => {
  assert.deepEqual(
    plan({ schedule: daily, from: '09:00:00', now: '2026-01-05T12:00:00Z' }),
    none('misfire 4: 09:00:00 to 2026-01-05T09:00:00Z'),
  )
})

test('a schedule with one slot runs it within the window, and records it as skipped after', () => {
  const schedule = compile({ type: 'ONE_TIME', scheduled_time: '2026-01-02T10:00:00Z' })
  const skipped = none('misfire 1: 10:00:00 to 10:00:00')
  const from = '10:00:00'
  assert.deepEqual(plan({ schedule, from, now: '11:00:00' }), unpaced([], '10:00:00 to 10:00:00'))
  assert.deepEqual(plan({ schedule, from, now: '11:00:01' }), skipped)
  assert.deepEqual(
    plan({ schedule, from, now: '10:01:00', policy: 'SKIP' }),
    unpaced([], '10:00:00 to 10:00:00'),
  )
  assert.deepEqual(plan({ schedule, from, now: '10:01:01', policy: 'SKIP' }), skipped)
})

test('slots before the first one that is open are neither run nor counted', () => {
  assert.deepEqual(
    plan({ schedule: everyMinute, from: '10:09:00', now: '10:10:30' }),
    unpaced([], '10:09:00 to 10:10:00'),
  )
})

test('a schedule that has ended owes the slots before its end', () => {
  const schedule = compile({ type: 'CRON', cron_expression: '* * * * *', end_at: '2026-01-02T10:05:00Z' })
  assert.deepEqual(
    plan({ schedule, from: '10:00:00', now: '10:30:00' }),
    unpaced(['misfire 5: 10:00:00 to 10:04:00'], '10:05:00 to 10:05:00'),
  )
})

test('over the night of a clock change the count is that of the zone', () => {
  const windowMs = 24 * hourMs
  // In Berlin the clock goes from 02:00 to 03:00 on 29 March: 2:30 runs at 03:00, once, at 01:00 UTC.
  const berlin = cron('30 2 * * *', [], 'Europe/Berlin')
  assert.deepEqual(
    plan({ schedule: berlin, from: '2026-03-28T01:30:00Z', now: '2026-03-30T00:15:00Z', windowMs }),
    unpaced(
      ['misfire 1: 2026-03-28T01:30:00Z to 2026-03-28T01:30:00Z'],
      '2026-03-29T01:00:00Z to 2026-03-29T01:00:00Z',
    ),
  )
  // In the autumn an hour comes twice, and every half hour is elapsed time: two more slots than on other days.
  const halfHours = cron('*/30 * * * *', [], 'Europe/Berlin')
  assert.deepEqual(
    plan({ schedule: halfHours, from: '2026-10-24T22:00:00Z', now: '2026-10-25T23:10:00Z', windowMs }),
    unpaced(
      ['misfire 50: 2026-10-24T22:00:00Z to 2026-10-25T22:30:00Z'],
      '2026-10-25T23:00:00Z to 2026-10-25T23:00:00Z',
    ),
  )
})

// Jitter: the due time of a slot counts. Hourly slots that are due up to half an hour later.
const jittered = { jobId: 'a job', schedule: hourly, jitterSeconds: 1_800, windowMs: 3 * hourMs } as const

test('a slot is not due before its jitter is over', () => {
  const ten = at('10:00:00')
  const dueAt = dueAtOf(jittered, ten)
  assert(dueAt > ten + 1_000 && dueAt < ten + 1_800_000, 'else this test would say nothing')
  const job = { ...jittered, misfirePolicy: 'FIRE_ALL' } as const
  const late = { from: at('09:00:00'), misfireAfterMs }
  const before = planLate(job, { ...late, now: epochMs(dueAt - 1) })
  assert.deepEqual(before, {
    skipped: [],
    runs: { first: at('09:00:00'), last: at('09:00:00'), paceMs: 100 },
  })
  const { runs } = planLate(job, { ...late, now: dueAt })
  assert.deepEqual(runs, { first: at('09:00:00'), last: ten, paceMs: 100 })
  assert.deepEqual(planLate(job, { ...late, from: ten, now: epochMs(dueAt - 1) }), {
    skipped: [],
    runs: null,
  })
})

test('with jitter a slot is misfired a minute after it was due, and its window counts from then', () => {
  const ten = at('10:00:00')
  const dueAt = dueAtOf(jittered, ten)
  const runsAt = (now: number, windowMs: number, misfirePolicy: LateJob['misfirePolicy']) =>
    planLate({ ...jittered, misfirePolicy, windowMs }, { from: ten, now: epochMs(now), misfireAfterMs }).runs
  assert.equal(runsAt(dueAt + 60_000, hourMs, 'SKIP')?.first, ten)
  assert.equal(runsAt(dueAt + 60_001, hourMs, 'SKIP'), null)
  assert.equal(runsAt(dueAt + 120_000, 120_000, 'FIRE_ONCE')?.first, ten)
  assert.equal(runsAt(dueAt + 120_001, 120_000, 'FIRE_ONCE'), null)
})

test('the window is an hour for schedules finer than a day, else a day', () => {
  const window = (schedule: CompiledSchedule) => misfireWindowMs(schedule, null) / 1_000
  assert.equal(window(everySecond), 3_600)
  assert.equal(window(hourly), 3_600)
  assert.equal(window(cron('0 9,17 * * *')), 3_600)
  assert.equal(window(compile({ type: 'INTERVAL', every_seconds: 86_399 })), 3_600)
  assert.equal(window(compile({ type: 'INTERVAL', every_seconds: 86_400 })), 86_400)
  assert.equal(window(daily), 86_400)
  assert.equal(window(cron('0 9 * * 1-5')), 86_400)
  assert.equal(window(cron('0 9 1 * *')), 86_400)
  assert.equal(window(compile({ type: 'ONE_TIME', scheduled_time: '2026-01-02T10:00:00Z' })), 86_400)
})

test('a window that was given holds, also one of nothing', () => {
  assert.equal(misfireWindowMs(everySecond, 90), 90_000)
  assert.equal(misfireWindowMs(daily, 0), 0)
})
