// The clock rule in zones whose changes differ: only a schedule of all 24 hours follows elapsed time; any other runs once
// after a gap and on the first of two passes, regardless of its minutes and seconds.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseCron } from '../../src/domain/schedule/cron.ts'
import { compileCron } from '../../src/domain/schedule/cron-pattern.ts'
import { nextSlot } from '../../src/domain/schedule/next-run.ts'
import { findZone } from '../../src/domain/schedule/zone.ts'
import { type EpochMs, toRfc3339 } from '../../src/lib/time/epoch.ts'
import { at, cron, runsAfter } from './list-runs.ts'

interface Case {
  zone: string
  expression: string
  from: string
  runs: string[]
}

const gaps: Case[] = [
  {
    // 02:00 becomes 03:00.
    zone: 'America/New_York',
    expression: '*/15 2 * * *',
    from: '2026-03-07T12:00:00Z',
    runs: ['2026-03-08T07:00:00Z', '2026-03-09T06:00:00Z', '2026-03-09T06:15:00Z'],
  },
  {
    // The run at 03:00 stands for the hour that is missing, and for itself.
    zone: 'America/New_York',
    expression: '*/30 2-3 * * *',
    from: '2026-03-08T05:00:00Z',
    runs: ['2026-03-08T07:00:00Z', '2026-03-08T07:30:00Z', '2026-03-09T06:00:00Z'],
  },
  {
    zone: 'Europe/Berlin',
    expression: '* 2 * * *',
    from: '2026-03-28T12:00:00Z',
    runs: ['2026-03-29T01:00:00Z', '2026-03-30T00:00:00Z', '2026-03-30T00:01:00Z'],
  },
  {
    zone: 'Europe/Berlin',
    expression: '*/20 59 1-2 * * *',
    from: '2026-03-29T00:59:20Z',
    runs: ['2026-03-29T00:59:40Z', '2026-03-29T01:00:00Z', '2026-03-29T23:59:00Z'],
  },
  {
    // 02:00 becomes 02:30: half of the hour is missing.
    zone: 'Australia/Lord_Howe',
    expression: '*/15 2 * * *',
    from: '2026-10-03T12:00:00Z',
    runs: ['2026-10-03T15:30:00Z', '2026-10-03T15:45:00Z', '2026-10-04T15:00:00Z'],
  },
  {
    zone: 'Australia/Lord_Howe',
    expression: '5/15 2 * * *',
    from: '2026-10-03T12:00:00Z',
    runs: ['2026-10-03T15:30:00Z', '2026-10-03T15:35:00Z', '2026-10-03T15:50:00Z'],
  },
  {
    // 01:00 becomes 02:00.
    zone: 'Europe/London',
    expression: '10/20 1 * * *',
    from: '2026-03-28T12:00:00Z',
    runs: ['2026-03-29T01:00:00Z', '2026-03-30T00:10:00Z', '2026-03-30T00:30:00Z'],
  },
  {
    // Midnight becomes 01:00.
    zone: 'America/Sao_Paulo',
    expression: '*/20 0 * * *',
    from: '2018-11-03T12:00:00Z',
    runs: ['2018-11-04T03:00:00Z', '2018-11-05T02:00:00Z', '2018-11-05T02:20:00Z'],
  },
  {
    // 30 December 2011 does not exist: its nine hours of quarters are one run when the 31st begins.
    zone: 'Pacific/Apia',
    expression: '*/15 9-17 30 12 *',
    from: '2011-12-01T00:00:00Z',
    runs: ['2011-12-30T10:00:00Z', '2012-12-29T19:00:00Z'],
  },
]

const folds: Case[] = [
  {
    zone: 'America/New_York',
    expression: '*/30 1 * * *',
    from: '2026-11-01T04:00:00Z',
    runs: ['2026-11-01T05:00:00Z', '2026-11-01T05:30:00Z', '2026-11-02T06:00:00Z'],
  },
  {
    zone: 'Europe/Berlin',
    expression: '*/30 1-3 * * *',
    from: '2026-10-25T00:00:00Z',
    runs: ['2026-10-25T00:30:00Z', '2026-10-25T02:00:00Z', '2026-10-25T02:30:00Z', '2026-10-26T00:00:00Z'],
  },
  {
    // 02:00 becomes 01:30.
    zone: 'Australia/Lord_Howe',
    expression: '*/15 1 * * *',
    from: '2026-04-04T14:15:00Z',
    runs: ['2026-04-04T14:30:00Z', '2026-04-04T14:45:00Z', '2026-04-05T14:30:00Z'],
  },
  {
    zone: 'Europe/London',
    expression: '0 */20 1 * * *',
    from: '2026-10-25T00:00:00Z',
    runs: ['2026-10-25T00:20:00Z', '2026-10-25T00:40:00Z', '2026-10-26T01:00:00Z'],
  },
  {
    // Midnight of the 18th becomes 23:00 of the 17th.
    zone: 'America/Sao_Paulo',
    expression: '*/30 23 * * *',
    from: '2018-02-18T00:00:00Z',
    runs: ['2018-02-18T01:00:00Z', '2018-02-18T01:30:00Z', '2018-02-19T02:00:00Z'],
  },
]

for (const [kind, cases] of [
  ['gap', gaps],
  ['fold', folds],
] as const) {
  for (const { zone, expression, from, runs } of cases) {
    test(`${kind} in ${zone}: ${expression}`, () => {
      assert.deepEqual(runsAfter(cron(expression, zone), from, runs.length), runs)
    })
  }
}

test('a schedule of all 24 hours follows elapsed time, in any spelling of them', () => {
  const zone = 'America/New_York'
  for (const hours of ['*', '*/1', '0-23', '0/1', '12-11', '0-11,12-23']) {
    const gap = runsAfter(cron(`30 ${hours} * * *`, zone), '2026-03-08T06:00:00Z', 2)
    assert.deepEqual(gap, ['2026-03-08T06:30:00Z', '2026-03-08T07:30:00Z'], hours)
    const fold = runsAfter(cron(`30 ${hours} * * *`, zone), '2026-11-01T05:00:00Z', 3)
    assert.deepEqual(fold, ['2026-11-01T05:30:00Z', '2026-11-01T06:30:00Z', '2026-11-01T07:30:00Z'], hours)
  }
})

test('dst_gap and dst_fold replace the rule for a schedule of any hours', () => {
  const zone = 'America/New_York'
  const skip = { ...cron('*/30 2 * * *', zone), dst_gap: 'skip' }
  assert.deepEqual(runsAfter(skip, '2026-03-08T05:00:00Z', 1), ['2026-03-09T06:00:00Z'])
  const both = { ...cron('*/30 1 * * *', zone), dst_fold: 'both' }
  assert.deepEqual(runsAfter(both, '2026-11-01T05:15:00Z', 3), [
    '2026-11-01T05:30:00Z',
    '2026-11-01T06:00:00Z',
    '2026-11-01T06:30:00Z',
  ])
  // Half past each hour: the run after the gap comes on top of the ones of the hours.
  const after = { ...cron('30 * * * *', zone), dst_gap: 'run_after' }
  assert.deepEqual(runsAfter(after, '2026-03-08T06:00:00Z', 3), [
    '2026-03-08T06:30:00Z',
    '2026-03-08T07:00:00Z',
    '2026-03-08T07:30:00Z',
  ])
})

test('clock rule 1 of older versions: a wildcard or an open step in minute or second follows elapsed time', () => {
  const firstRun = (expression: string, from: string): string => {
    const fields = parseCron(expression)
    const zone = findZone('America/New_York')
    assert(fields.ok && zone.ok)
    const pattern = compileCron(fields.value, zone.value, { clockRule: 1 })
    assert(pattern.ok)
    return toRfc3339(nextSlot(pattern.value, at(from)) as EpochMs)
  }
  for (const wild of ['*/15 2 * * *', '0/15 2 * * *', '0-59 2 * * *', '*/20 0 2 * * *'])
    assert.equal(firstRun(wild, '2026-03-07T12:00:00Z'), '2026-03-09T06:00:00Z', wild)
  assert.equal(firstRun('0,15,30,45 2 * * *', '2026-03-07T12:00:00Z'), '2026-03-08T07:00:00Z')
  assert.equal(firstRun('*/30 1 * * *', '2026-11-01T05:30:00Z'), '2026-11-01T06:00:00Z')
})
