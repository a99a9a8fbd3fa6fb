// Hunts for the most expensive single input, in a fresh process so that nothing is warm: every zone cold, hostile
// texts, random texts, the longest everything. The bound is 5 ms for one input. The same inputs run in nine fresh
// processes and the least time of each counts: that keeps first-time costs and drops the noise of other work on the
// machine. `node bench/schedule-hunt.ts [SEED]` runs it alone.
import { spawnSync } from 'node:child_process'
import { compileSchedule } from '@carillon/server/domain/schedule/compile-schedule.ts'
import { countSlots, nextSlot, previousSlot } from '@carillon/server/domain/schedule/next-run.ts'
import { previewSchedule } from '@carillon/server/domain/schedule/preview.ts'
import { epochMs } from '@carillon/server/lib/time/epoch.ts'

const boundMs = 5
const now = epochMs(Date.UTC(2026, 10, 15, 21))
const seed = Number(process.argv[2] ?? 7)
const isChild = process.argv[3] === 'child'
const processes = 9
const found: { ms: number; what: string }[] = []

function cost(what: string, work: () => unknown): void {
  const begin = process.hrtime.bigint()
  work()
  found.push({ ms: Number(process.hrtime.bigint() - begin) / 1e6, what })
}

const ask = (schedule: unknown) => {
  const answer = compileSchedule(schedule, { createdAt: now, jobId: 'job' })
  if (!answer.ok) return
  nextSlot(answer.value.compiled, now)
  previousSlot(answer.value.compiled, now)
}

if (isChild) {
  hunt()
  process.stdout.write(JSON.stringify(found))
} else report()

function hunt(): void {
  cost('the very first input of a process', () => ask('0 10 * * *'))
  for (const zone of Intl.supportedValuesOf('timeZone')) {
    cost(`cold zone ${zone}`, () => ask({ cron_expression: '30 2 * * *', timezone: zone }))
  }
  cost('first English of a process', () => ask('last friday of the month at 18:30 in London'))
  cost('first unknown zone of a process', () =>
    ask({ cron_expression: '0 0 * * *', timezone: 'Europe/Lodon' }),
  )
  const last = 'America/New_York'
  cost('zone table grown to 2199', () => ask({ cron_expression: '0 0 2 30 12 * 2199', timezone: last }))

  const hostile = [
    'x'.repeat(256),
    `${'every '.repeat(42)}`,
    `${'evrey moday '.repeat(21)}`,
    `${'in Lodno '.repeat(28)}`,
    `${'and '.repeat(63)}`,
    `${'1,'.repeat(120)} * * * *`,
    `${'0-59,'.repeat(40)}0 * * * *`,
    `${'*/1,'.repeat(60)}* * * * *`,
    '* '.repeat(128),
    '0 0 29 2 +MON',
    '0 0 0 29 2 ? 2196',
    '59 59 23 31 12 ? 2199',
    '0 0 L-30 2 *',
    '0 0 1W,2W,3W,4W,5W,6W,7W,8W,9W,10W,11W,12W,13W,14W,15W,L,LW,L-1,L-2,L-3,L-4W * MON#1,TUE#2,WED#3,THU#4,FRI#5,SATL',
    `P${'9'.repeat(250)}D`,
    'R999999999/2026-01-01T00:00:00Z/PT1S',
    'P1D',
    'H(0-59)/1 H(0-23)/1 H H H',
    '@every 999999h',
  ]
  for (const text of hostile) {
    for (let turn = 0; turn < 3; turn++) cost(`hostile ${JSON.stringify(text.slice(0, 48))}`, () => ask(text))
  }
  const windows = Array.from({ length: 100 }, (_, i) => ({
    from: `2026-01-01T00:00:${`${i % 60}`.padStart(2, '0')}Z`,
    to: `20${27 + (i % 70)}-01-01`,
  }))
  cost('100 exclusions', () => ask({ cron_expression: '* * * * * *', timezone: last, exclusions: windows }))
  const holidays = Array.from({ length: 1_000 }, (_, i) => ({
    date: new Date(now + 86_400_000 * i).toISOString().slice(0, 10),
  }))
  cost('a calendar of 1,000 days', () =>
    compileSchedule(
      { cron_expression: '* * * * *', timezone: last, exclusions: [{ calendar: 'holidays' }] },
      { createdAt: now, calendars: { holidays } },
    ),
  )
  const dense = compileSchedule({ cron_expression: '* * * * * *', timezone: last }, { createdAt: now })
  if (dense.ok) {
    cost('counting every second of 230 years', () =>
      countSlots(dense.value.compiled, { from: epochMs(0), to: epochMs(7_258_118_400_000) }),
    )
  }
  const rare = compileSchedule({ cron_expression: '0 0 29 2 MON#5', timezone: last }, { createdAt: now })
  if (rare.ok)
    cost('counting a rare one', () =>
      countSlots(rare.value.compiled, { from: epochMs(0), to: epochMs(7e12) }),
    )
  cost('first preview of 100', () =>
    previewSchedule({ schedule: '*/5 2 * * *', count: 100 }, { now, timezone: last }),
  )

  let state = seed
  const random = (n: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0
    return Math.floor(((state >>> 8) / 16_777_216) * n)
  }
  const pieces = [
    ...'0123456789*/,-?#LWH() +@'.split(''),
    ...[
      'every ',
      'day ',
      'at ',
      'noon ',
      'in ',
      'last ',
      'friday ',
      ' * * ',
      'MON',
      'PT',
      'R/',
      '2026',
      'and ',
      'evry ',
      '* * * * ',
    ],
  ]
  for (let i = 0; i < 20_000; i++) {
    let text = ''
    const length = 1 + random(40)
    for (let j = 0; j < length; j++) text += pieces[random(pieces.length)]
    cost(`random ${JSON.stringify(text)}`, () => ask(text))
  }
}

function report(): void {
  const runs = Array.from({ length: processes }, () => {
    const child = spawnSync(process.execPath, [import.meta.filename, `${seed}`, 'child'], { maxBuffer: 1e9 })
    return JSON.parse(child.stdout.toString()) as typeof found
  })
  const least = runs[0]!.map(({ what }, i) => ({ what, ms: Math.min(...runs.map((run) => run[i]!.ms)) }))
  least.sort((a, b) => b.ms - a.ms)
  console.log(
    `dearest of ${least.length.toLocaleString('en')} inputs, least of ${processes} fresh processes, seed ${seed}`,
  )
  for (const { ms, what } of least.slice(0, 6)) console.log(`  ${ms.toFixed(2)} ms  ${what.slice(0, 90)}`)
  const cold = least.filter(({ what }) => what.startsWith('cold zone'))
  const median = cold[cold.length >> 1]!.ms.toFixed(2)
  console.log(
    `cold zones: ${cold.length}, dearest ${cold[0]!.ms.toFixed(2)} ms (${cold[0]!.what}), median ${median} ms`,
  )
  console.log(`bound of ${boundMs} ms: ${least[0]!.ms <= boundMs ? 'met' : 'NOT MET'}`)
}
