import assert from 'node:assert/strict'
import { test } from 'node:test'
import { at, compiled, cron, refusal, runsAfter } from '../../../test/schedule/list-runs.ts'
import { parseCron } from './cron.ts'
import { nextSlot } from './next-run.ts'
import { SCHEDULE_ERROR_CODES } from './schedule-error.ts'

const from = '2026-01-01T00:00:00Z' // a Thursday

function same(one: string, other: string): void {
  const wanted = runsAfter(cron(other), from, 40)
  assert.deepEqual(runsAfter(cron(one), from, 40), wanted, `${one} and ${other}`)
}

test('seconds come first in six fields, the year last in seven', () => {
  assert.deepEqual(runsAfter(cron('15 30 10 * * *'), from, 1), ['2026-01-01T10:30:15Z'])
  assert.deepEqual(runsAfter(cron('0 0 0 1 1 ? 2030/5'), from, 2), [
    '2030-01-01T00:00:00Z',
    '2035-01-01T00:00:00Z',
  ])
})

test('lists, ranges, steps and names mean the same values however they are written', () => {
  same('0,15,30,45 * * * *', '*/15 * * * *')
  same('10/15 * * * *', '10,25,40,55 * * * *')
  same('0-30/7 * * * *', '0,7,14,21,28 * * * *')
  same('0 0 * jan,Mar-may *', '0 0 * 1,3,4,5 *')
  same('0 0 * * mon-FRI', '0 0 * * 1-5')
  same('8-20,14 * * * *', '8-20 * * * *')
  same('  0\t10 *  * * ', '0 10 * * *')
})

test('a range may run over the end of its field', () => {
  same('0 22-2 * * *', '0 22,23,0,1,2 * * *')
  same('0 22-2/2 * * *', '0 22,0,2 * * *')
  same('0 0 * * FRI-MON', '0 0 * * 5,6,0,1')
  same('0 0 * NOV-FEB *', '0 0 * 11,12,1,2 *')
  same('0 0 25-5 * *', '0 0 25-31,1-5 * *')
  assert.equal(refusal(cron('0 0 0 1 1 ? 2030-2026')).code, 'OUT_OF_RANGE')
})

test('0 and 7 are both Sunday', () => {
  same('0 0 * * 7', '0 0 * * 0')
  same('0 0 * * 5-7', '0 0 * * 5,6,0')
  same('0 0 * * 7-2', '0 0 * * 0-2')
  same('0 0 * * 2#3', '0 0 * * TUE#3')
  same('0 0 * * 7L', '0 0 * * SUN#L')
})

test('? stands for any day and nowhere else', () => {
  same('0 10 ? * MON', '0 10 * * MON')
  same('0 10 1 * ?', '0 10 1 * *')
  const pasted = refusal(cron('0 10 * * ? *'))
  assert.deepEqual([pasted.code, pasted.field, pasted.position], ['NOT_ALLOWED_HERE', 'month', 9])
})

test('either day field matches when both are set, both must with +', () => {
  assert.deepEqual(runsAfter(cron('0 0 13 * FRI'), from, 4), [
    '2026-01-02T00:00:00Z',
    '2026-01-09T00:00:00Z',
    '2026-01-13T00:00:00Z',
    '2026-01-16T00:00:00Z',
  ])
  assert.deepEqual(runsAfter(cron('0 0 13 * +FRI'), from, 2), [
    '2026-02-13T00:00:00Z',
    '2026-03-13T00:00:00Z',
  ])
})

test('L, L-n, W and # find their days and can be listed', () => {
  assert.deepEqual(runsAfter(cron('0 0 L,15W * *'), from, 4), [
    '2026-01-15T00:00:00Z',
    '2026-01-31T00:00:00Z',
    '2026-02-16T00:00:00Z',
    '2026-02-28T00:00:00Z',
  ])
  assert.deepEqual(runsAfter(cron('0 0 L-3 * *'), from, 2), ['2026-01-28T00:00:00Z', '2026-02-25T00:00:00Z'])
  assert.deepEqual(runsAfter(cron('0 0 * * MON#1,fri#3'), from, 3), [
    '2026-01-05T00:00:00Z',
    '2026-01-16T00:00:00Z',
    '2026-02-02T00:00:00Z',
  ])
  assert.deepEqual(runsAfter(cron('0 0 * * SUN#5'), from, 2), [
    '2026-03-29T00:00:00Z',
    '2026-05-31T00:00:00Z',
  ])
})

test('macros in any case stand for their fields', () => {
  same('@Hourly', '0 * * * *')
  same('@midnight', '0 0 * * *')
  same('@weekly', '0 0 * * 0')
  same('@annually', '0 0 1 1 *')
  assert.match(refusal('@reboot').message, /@reboot/)
  assert.equal(refusal('@fortnightly').code, 'UNKNOWN_MACRO')
  assert.equal(refusal(cron('@every 5m')).code, 'UNKNOWN_MACRO')
})

test('H gives each job its own time, always the same for one job', () => {
  const minuteOf = (jobId: string) => nextSlot(compiled(cron('H * * * *'), { jobId }), at(from))! / 60_000
  const minutes = new Set(Array.from({ length: 600 }, (_, i) => minuteOf(`job-${i}`) % 60))
  assert.ok(minutes.size > 50, `${minutes.size} different minutes`)
  assert.equal(minuteOf('job-7'), minuteOf('job-7'))
  for (let i = 0; i < 200; i++) {
    const fields = parseCron('H(10-19) H(9-16) H * H', `job-${i}`)
    assert.ok(fields.ok)
    const text = fields.value.hashedText!
    const [minute, hour, day, month, weekday] = text.split(' ')
    assert.ok(Number(minute) >= 10 && Number(minute) <= 19, text)
    assert.ok(Number(hour) >= 9 && Number(hour) <= 16, text)
    assert.ok(Number(day) >= 1 && Number(day) <= 28, text)
    assert.ok(month === '*' && Number(weekday) >= 0 && Number(weekday) <= 6, text)
  }
})

test('H with a step keeps the step and moves its start', () => {
  for (let i = 0; i < 100; i++) {
    const fields = parseCron('H/15 H(0-11)/6 * * *', `job-${i}`)
    assert.ok(fields.ok)
    assert.match(fields.value.hashedText!, /^([0-9]|1[0-4])\/15 [0-5]-11\/6 \* \* \*$/)
  }
})

test('a refusal names the field, the position and the allowed values', () => {
  const cases: [string, string, string | null, number | null][] = [
    ['60 * * * *', 'OUT_OF_RANGE', 'minute', 0],
    ['0 24 * * *', 'OUT_OF_RANGE', 'hour', 2],
    ['0 0 0 * *', 'OUT_OF_RANGE', 'day of month', 4],
    ['0 0 1 13 *', 'OUT_OF_RANGE', 'month', 6],
    ['0 0 * * 8', 'OUT_OF_RANGE', 'day of week', 8],
    ['0 0 * * MONDAY', 'BAD_VALUE', 'day of week', 8],
    ['0 0 * January *', 'BAD_VALUE', 'month', 6],
    ['0 0 * * L', 'NOT_ALLOWED_HERE', 'day of week', 8],
    ['0 L * * *', 'NOT_ALLOWED_HERE', 'hour', 2],
    ['0 0 L-31 * *', 'OUT_OF_RANGE', 'day of month', 6],
    ['0 0 * * FRI#6', 'OUT_OF_RANGE', 'day of week', 12],
    ['*/61 * * * *', 'BAD_STEP', 'minute', 2],
    ['0 0 * * 1-5#2', 'BAD_CHARACTER', 'day of week', 11],
    ['0 0 15WW * *', 'BAD_CHARACTER', 'day of month', 7],
    ['1, * * * *', 'BAD_VALUE', 'minute', 2],
    ['0 0 0 1 1 ? 1969', 'OUT_OF_RANGE', 'year', 12],
    ['0 0 0 1 1 ? H', 'NOT_ALLOWED_HERE', 'year', 12],
    ['H(5-1) * * * *', 'OUT_OF_RANGE', 'minute', 5],
    ['* * * *', 'FIELD_COUNT', null, 0],
    ['* * * * * * * *', 'FIELD_COUNT', null, 0],
    ['0 10 * *\n*', 'BAD_CHARACTER', null, 8],
    ['', 'EXPRESSION_EMPTY', null, null],
    [' \t ', 'EXPRESSION_EMPTY', null, null],
  ]
  for (const [text, code, field, position] of cases) {
    const error = refusal(cron(text))
    assert.deepEqual([error.code, error.field, error.position], [code, field, position], text)
    assert.ok(error.allowed !== null && error.message.endsWith('.'), text)
    assert.ok(SCHEDULE_ERROR_CODES.includes(error.code))
  }
})
