// Reported bugs about days, backwards iteration, hostile texts and zone data.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nextSlot } from '../../src/domain/schedule/next-run.ts'
import { findZone, offsetAt } from '../../src/domain/schedule/zone.ts'
import { at, compiled, cron, refusal, runsBefore } from './list-runs.ts'
import { testReported } from './reported-bug.ts'

testReported([
  {
    says: 'the last Friday of each month is found without end',
    threads: 'dragonmantank/cron-expression#28, Hexagon/croner#253',
    expression: '0 0 * * FRIL',
    from: '2026-01-01T00:00:00Z',
    runs: ['2026-01-30T00:00:00Z', '2026-02-27T00:00:00Z', '2026-03-27T00:00:00Z'],
  },
  {
    says: '5L is the last Friday, not every Friday',
    threads: 'Hexagon/croner#253',
    expression: '0 0 * * 5L',
    from: '2026-05-01T00:00:00Z',
    runs: ['2026-05-29T00:00:00Z', '2026-06-26T00:00:00Z'],
  },
  {
    says: '1 March is not skipped by */5',
    threads: 'croner 9.1 to 11.0, pallets-eco/croniter#178, Effect-TS/effect#6285',
    expression: '0 0 */5 * *',
    from: '2026-02-26T12:00:00Z',
    runs: ['2026-03-01T00:00:00Z', '2026-03-06T00:00:00Z'],
  },
  {
    says: '1 March is not skipped by a list that reaches past the end of February',
    threads: 'croner 9.1 to 11.0, pallets-eco/croniter#178',
    expression: '0 0 1,15,30 * *',
    from: '2026-02-15T12:00:00Z',
    runs: ['2026-03-01T00:00:00Z', '2026-03-15T00:00:00Z', '2026-03-30T00:00:00Z'],
  },
  {
    says: '1 March is not skipped when a weekday is given too',
    threads: 'croner 9.1 to 11.0',
    expression: '0 0 1-23 * WED',
    from: '2026-02-25T12:00:00Z',
    runs: ['2026-03-01T00:00:00Z', '2026-03-02T00:00:00Z'],
  },
  {
    says: 'the 31st is found in the months that have one',
    threads: 'harrisiirak/cron-parser#127, alonsodomin/cron4s#73, jmrozanec/cron-utils#153',
    expression: '0 0 31 * *',
    from: '2026-01-31T12:00:00Z',
    runs: ['2026-03-31T00:00:00Z', '2026-05-31T00:00:00Z', '2026-07-31T00:00:00Z', '2026-08-31T00:00:00Z'],
  },
  {
    says: 'the weekday nearest to the 1st stays in the month',
    threads: 'spring-projects/spring-framework#27966',
    expression: '0 0 1W * *',
    from: '2026-07-15T00:00:00Z',
    runs: ['2026-08-03T00:00:00Z', '2026-09-01T00:00:00Z'],
  },
  {
    says: 'the last day with every hour runs every hour of it',
    threads: 'spring-projects/spring-framework#26390',
    expression: '0 * L * *',
    from: '2026-02-28T21:30:00Z',
    runs: ['2026-02-28T22:00:00Z', '2026-02-28T23:00:00Z', '2026-03-31T00:00:00Z', '2026-03-31T01:00:00Z'],
  },
  {
    says: 'LW is the last weekday of the month',
    threads: 'dragonmantank/cron-expression#168 #176',
    expression: '0 0 LW * *',
    from: '2026-01-01T00:00:00Z',
    runs: [
      '2026-01-30T00:00:00Z',
      '2026-02-27T00:00:00Z',
      '2026-03-31T00:00:00Z',
      '2026-04-30T00:00:00Z',
      '2026-05-29T00:00:00Z',
    ],
  },
  {
    says: '29 February or a Monday of February',
    threads: 'jmrozanec/cron-utils#69',
    expression: '0 0 29 2 1',
    from: '2028-02-20T00:00:00Z',
    runs: ['2028-02-21T00:00:00Z', '2028-02-28T00:00:00Z', '2028-02-29T00:00:00Z', '2029-02-05T00:00:00Z'],
  },
  {
    says: '29 February is found over the century that has none',
    threads: 'taichino/croniter#55 #131, staticlibs/ccronexpr#32',
    expression: '0 0 29 2 *',
    from: '2096-03-01T00:00:00Z',
    runs: ['2104-02-29T00:00:00Z', '2108-02-29T00:00:00Z'],
  },
  {
    says: '*/2 in the day of month restricts it, so that either day field matches',
    threads: 'pallets-eco/croniter#41, QwenLM/qwen-code#7452, stablyai/orca#15896, cronie-crond/cronie#215',
    expression: '0 0 */2 * 1',
    from: '2026-01-03T12:00:00Z',
    runs: [
      '2026-01-05T00:00:00Z',
      '2026-01-07T00:00:00Z',
      '2026-01-09T00:00:00Z',
      '2026-01-11T00:00:00Z',
      '2026-01-12T00:00:00Z',
    ],
  },
  {
    says: '*/1 in the day of month is a star, so that only the weekday counts',
    threads: 'croner and cron-parser, reference/cron.md section 2',
    expression: '0 0 */1 * 1',
    from: '2026-01-01T00:00:00Z',
    runs: ['2026-01-05T00:00:00Z', '2026-01-12T00:00:00Z'],
  },
  {
    says: 'SUN-SUN is Sunday, not every day',
    threads: 'croner 11, reference/cron.md section 7',
    expression: '0 0 * * SUN-SUN',
    from: '2026-01-01T00:00:00Z',
    runs: ['2026-01-04T00:00:00Z', '2026-01-11T00:00:00Z'],
  },
  {
    says: 'a range that ends on Sunday is accepted',
    threads: 'cron-parser 5.10.4, reference/cron.md section 2',
    expression: '0 0 * * SAT-SUN',
    from: '2026-01-01T00:00:00Z',
    runs: ['2026-01-03T00:00:00Z', '2026-01-04T00:00:00Z', '2026-01-10T00:00:00Z'],
  },
  {
    says: 'L-30 runs only in months of 31 days and goes on',
    threads: 'Spring main, reference/cron.md section 0',
    expression: '0 0 L-30 * *',
    from: '2026-01-01T12:00:00Z',
    runs: ['2026-03-01T00:00:00Z', '2026-05-01T00:00:00Z'],
  },
  {
    says: '31W of a month that ends on a Sunday is the Friday before',
    threads: 'Spring main, reference/cron.md section 2',
    expression: '0 0 31W * *',
    from: '2026-05-01T00:00:00Z',
    runs: ['2026-05-29T00:00:00Z', '2026-07-31T00:00:00Z'],
  },
])

test('going backwards mirrors going forwards across a gap and a repeat (harrisiirak/cron-parser#378 #446, floraison/fugit#51)', () => {
  const daily = cron('30 2 * * *', 'America/New_York')
  assert.deepEqual(runsBefore(daily, '2026-03-10T00:00:00Z', 3), [
    '2026-03-09T06:30:00Z',
    '2026-03-08T07:00:00Z',
    '2026-03-07T07:30:00Z',
  ])
  const hourly = cron('30 * * * *', 'America/New_York')
  assert.deepEqual(runsBefore(hourly, '2026-11-01T07:00:00Z', 3), [
    '2026-11-01T06:30:00Z',
    '2026-11-01T05:30:00Z',
    '2026-11-01T04:30:00Z',
  ])
  assert.deepEqual(runsBefore(cron('0 0 29 2 *'), '2026-01-01T00:00:00Z', 2), [
    '2024-02-29T00:00:00Z',
    '2020-02-29T00:00:00Z',
  ])
})

test('30 February is refused, not searched for ever (jmrozanec/cron-utils#310 #329, Steve-Mcl/node-red-contrib-cron-plus#130)', () => {
  for (const never of [
    '0 0 30 2 *',
    '0 0 31 2 *',
    '0 0 31 4,6,9,11 *',
    '0 0 0 30 2 ? 2026-2199',
    '0 0 0 29 2 ? 2025-2027',
  ]) {
    assert.equal(refusal(cron(never)).code, 'NEVER_MATCHES', never)
  }
})

test('a zone inside the text is refused with a hint and never panics (robfig/cron#470 #554 #566)', () => {
  for (const text of ['TZ=', 'TZ=0', 'CRON_TZ=UTC', 'CRON_TZ=UTC 0 10 * * *', 'TZ=Europe/London * * * * *']) {
    assert.equal(refusal(text).code, 'ZONE_IN_EXPRESSION', text)
  }
})

test('a step without a range is refused, not overflowing the stack (Hexagon/croner#260)', () => {
  assert.deepEqual([refusal(cron('/3 * * * *')).code, refusal(cron('/3 * * * *')).position], ['BAD_VALUE', 0])
})

test('a dash alone is refused (dragonmantank/cron-expression#156)', () => {
  assert.equal(refusal(cron('- * * * *')).code, 'BAD_VALUE')
})

test('hostile sizes are refused before they cost anything (floraison/fugit#104, harrisiirak/cron-parser#450, netresearch/go-cron#30)', () => {
  assert.equal(refusal('* '.repeat(10_000)).code, 'EXPRESSION_TOO_LONG')
  assert.equal(refusal(`${'1,'.repeat(100_000)}1 * * * *`).code, 'EXPRESSION_TOO_LONG')
  assert.equal(refusal(cron(`${'1,'.repeat(64)}1 * * * *`)).code, 'TOO_MANY_TERMS')
})

test('hostile numbers are refused (web2py/web2py#2687, avifenesh/glide-mq#56, citusdata/pg_cron#351)', () => {
  assert.equal(refusal(cron('0-99999999/1 * * * *')).code, 'OUT_OF_RANGE')
  assert.equal(refusal(cron('*/0 * * * *')).code, 'BAD_STEP')
  assert.equal(refusal(cron('*/4294967297 * * * *')).code, 'OUT_OF_RANGE')
  assert.equal(refusal(cron('*/61 * * * *')).code, 'BAD_STEP')
})

test('no text makes the parser throw (Hexagon/croner-rust#16, zslayton/cron#48, stalwartlabs/stalwart#2366, kubernetes/kubernetes#41655)', () => {
  const pieces = [
    '*',
    '/',
    ',',
    '-',
    '?',
    'L',
    'W',
    '#',
    'H',
    '(',
    ')',
    '+',
    '@',
    ' ',
    '0',
    '59',
    'MON',
    '\t',
    'é',
    '\u0000',
    '🕐',
  ]
  let state = 1
  for (let i = 0; i < 5_000; i++) {
    let text = ''
    for (let j = 0; j < 1 + (i % 23); j++) {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0
      text += pieces[(state >>> 8) % pieces.length]
    }
    assert.doesNotThrow(() => {
      try {
        compiled(text)
      } catch (error) {
        if ((error as Error).name !== 'AssertionError') throw error
      }
    }, text)
  }
})

test('a next run beyond 24 days is exact: capping the timer is the timer’s work (node-cron/node-cron#441 #442, openclaw/openclaw#11486, medusajs/medusa#16281)', () => {
  const next = nextSlot(compiled(cron('0 0 29 2 *')), at('2026-01-01T00:00:00Z'))
  assert.equal(next, at('2028-02-29T00:00:00Z'))
})

test('Morocco stays at UTC+0 from 20 September 2026 on (home-assistant/core#182784, lau/tzdata#177)', () => {
  const zone = findZone('Africa/Casablanca')
  assert.ok(zone.ok)
  assert.equal(offsetAt(zone.value, at('2026-09-01T00:00:00Z') / 1000), 3_600)
  assert.equal(offsetAt(zone.value, at('2026-10-01T00:00:00Z') / 1000), 0)
  assert.equal(offsetAt(zone.value, at('2030-07-01T00:00:00Z') / 1000), 0)
})
