import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cli } from '../test/cli.ts'

function run(args: string[], stdin: string | Iterable<string> = '') {
  return cli(['next', ...args], { stdin })
}

test('carillon next prints the sentence, the rule and a table with notes', async () => {
  const { code, out } = await run([
    '30 2 * * *',
    '--tz',
    'america/new_york',
    '--from',
    '2026-03-07T12:00:00Z',
    '--count',
    '2',
  ])
  assert.equal(code, 0)
  assert.match(out, /^At 02:30 every day, America\/New_York time\.\n/)
  assert.match(
    out,
    /2026-03-08T07:00:00Z {2}2026-03-08T03:00:00-04:00 {2}The clock skips from 02:00 to 03:00/,
  )
  assert.match(out, /2026-03-09T06:30:00Z/)
  assert.match(out, /Follows the wall clock/)
})

test('carillon next shows one run after the gap for a step of minutes within an hour', async () => {
  const from = ['--tz', 'America/New_York', '--from', '2026-03-07T12:00:00Z', '--count', '2']
  const { code, out } = await run(['*/15 2 * * *', ...from])
  assert.equal(code, 0)
  assert.match(out, /2026-03-08T07:00:00Z .*run now, once\..*\n.*2026-03-09T06:00:00Z/)
  assert.match(out, /Follows the wall clock/)
  const hourly = await run(['*/15 * * * *', ...from])
  assert.match(hourly.out, /Follows elapsed time, because it runs in all 24 hours/)
})

test('carillon next understands English and shows the resulting schedule', async () => {
  const { code, out } = await run(['weekdays at 9 in London', '--from', '2026-07-01T00:00:00Z', '--json'])
  assert.equal(code, 0)
  const reply = JSON.parse(out)
  assert.deepEqual(reply.schedule, {
    type: 'CRON',
    cron_expression: '0 9 * * 1-5',
    timezone: 'Europe/London',
  })
  assert.equal(reply.next.length, 10)
  assert.equal(reply.next[0].at, '2026-07-01T08:00:00Z')
})

test('a refused expression points at the character and exits with 4', async () => {
  const { code, out, err } = await run(['0 25 * * *'])
  assert.equal(code, 4)
  assert.equal(out, '')
  assert.match(err, /OUT_OF_RANGE: 25 is out of range: the hour is 0 to 23/)
  assert.match(err, /\n {2}0 25 \* \* \*\n {4}\^\n/)
})

test('a wrong command line exits with 2 and shows the usage', async () => {
  for (const args of [[], ['a', 'b'], ['--nope'], ['--stdin', 'x']]) {
    const { code, err } = await run(args)
    assert.equal(code, 2, args.join(' '))
    assert.match(err, /carillon next --help/)
  }
})

test('a count outside 1 to 100 is refused', async () => {
  for (const count of ['0', '101', 'x', '1.5']) {
    assert.equal((await run(['@daily', '--count', count])).code, 4, count)
  }
})

test('lines are answered in order, and a bad line does not stop the rest', async () => {
  const lines = [
    '{"expr":"*/5 * * * *","tz":"UTC","from":"2026-01-01T00:00:00Z","count":2}',
    '{"expr":"0 0 30 2 *","tz":"UTC","from":"2026-01-01T00:00:00Z","count":2}',
    'not json',
    '{"expr":"@daily","tz":"Mars/Olympus"}',
    '{"expr":"30 2 * * *","tz":"America/New_York","from":"2026-03-08T00:00:00Z","count":1,"dst_gap":"skip"}',
    '{"expr":"30 1 * * *","tz":"America/New_York","from":"2026-11-01T00:00:00Z","count":2,"dst_fold":"both"}',
    '{"expr":"@daily","count":0}',
    '{"expr":"@daily","surprise":1}',
    '{"expr":"R1/2026-01-01T00:00:00Z/PT1H","from":"2025-12-31T00:00:00Z","count":5}',
  ]
  const { code, out } = await run(['--stdin'], `${lines.join('\n')}\n`)
  assert.equal(code, 0)
  const answers = out
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
  assert.deepEqual(answers[0], { next: ['2026-01-01T00:05:00Z', '2026-01-01T00:10:00Z'] })
  assert.equal(answers[1].error.code, 'NEVER_MATCHES')
  assert.deepEqual(Object.keys(answers[1].error), ['code', 'message', 'field'])
  assert.equal(answers[2].error.code, 'BAD_LINE')
  assert.equal(answers[3].error.code, 'UNKNOWN_ZONE')
  assert.deepEqual(answers[4], { next: ['2026-03-09T06:30:00Z'] })
  assert.deepEqual(answers[5], { next: ['2026-11-01T05:30:00Z', '2026-11-01T06:30:00Z'] })
  assert.equal(answers[6].error.field, 'count')
  assert.equal(answers[7].error.field, 'surprise')
  assert.deepEqual(answers[8], { next: ['2026-01-01T00:00:00Z', '2026-01-01T01:00:00Z'] })
  assert.equal(answers.length, lines.length)
})

test('lines may arrive in pieces, without a last newline, and too long ones are thrown away', async () => {
  const good = '{"expr":"@hourly","from":"2026-01-01T00:00:00Z","count":1}'
  const pieces = [
    good.slice(0, 10),
    `${good.slice(10)}\n\n`,
    'x'.repeat(3_000),
    'x'.repeat(3_000),
    `x\r\n${good}`,
  ]
  const { out } = await run(['--stdin'], pieces)
  const answers = out
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
  assert.equal(answers.length, 3)
  assert.deepEqual(answers[0], { next: ['2026-01-01T01:00:00Z'] })
  assert.equal(answers[1].error.code, 'LINE_TOO_LONG')
  assert.deepEqual(answers[2], { next: ['2026-01-01T01:00:00Z'] })
})

test('thousands of lines are all answered', async () => {
  const line = (i: number) =>
    `{"expr":"${i % 60} ${i % 24} * * *","tz":"Europe/Paris","from":"2026-01-01T00:00:00Z","count":3}\n`
  const { out } = await run(['--stdin'], [Array.from({ length: 5_000 }, (_, i) => line(i)).join('')])
  assert.equal(out.trimEnd().split('\n').length, 5_000)
})
