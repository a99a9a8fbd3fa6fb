import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SchedulePreviewReplySchema, type SchedulePreviewRequest } from '@carillon/contract/schedule.ts'
import { Check } from 'typebox/value'
import { at, cron } from '../../../test/schedule/list-runs.ts'
import { previewCountMax, previewSchedule } from './preview.ts'
import { SCHEDULE_WARNING_CODES } from './preview-warnings.ts'

const now = at('2026-03-07T12:00:00Z')

function preview(schedule: SchedulePreviewRequest['schedule'], more: Partial<SchedulePreviewRequest> = {}) {
  const answer = previewSchedule({ schedule, ...more }, { now })
  assert.ok(answer.ok, JSON.stringify(answer))
  return answer.value
}

function warnings(
  schedule: SchedulePreviewRequest['schedule'],
  more: Partial<SchedulePreviewRequest> = {},
): string[] {
  return preview(schedule, more).warnings.map((warning) => warning.code)
}

test('a preview shows local time and UTC, and says which slot a gap moved', () => {
  const { next, rule, description } = preview(cron('30 2 * * *', 'America/New_York'), { count: 2 })
  assert.equal(description, 'At 02:30 every day, America/New_York time.')
  assert.equal(rule.follows, 'WALL_CLOCK')
  assert.deepEqual(next[0], {
    at: '2026-03-08T07:00:00Z',
    local: '2026-03-08T03:00:00-04:00',
    notes: [
      {
        code: 'GAP',
        message: 'The clock skips from 02:00 to 03:00; slots in between run now, once.',
      },
    ],
  })
  assert.deepEqual(next[1]!.notes, [])
})

test('a preview says which pass of a repeated hour runs', () => {
  const codes = (expression: string) =>
    preview(cron(expression, 'America/New_York'), { from: '2026-11-01T05:00:00Z', count: 2 }).next.map(
      ({ at, notes }) => [at, notes[0]?.code],
    )
  assert.deepEqual(codes('30 1 * * *'), [
    ['2026-11-01T05:30:00Z', 'FOLD_FIRST'],
    ['2026-11-02T06:30:00Z', undefined],
  ])
  assert.deepEqual(codes('30 * * * *'), [
    ['2026-11-01T05:30:00Z', 'FOLD_FIRST'],
    ['2026-11-01T06:30:00Z', 'FOLD_SECOND'],
  ])
})

test('a time right after the repeated hour is not marked', () => {
  const { next } = preview(cron('0 2 * * *', 'America/New_York'), { from: '2026-11-01T05:00:00Z', count: 1 })
  assert.deepEqual(next[0], { at: '2026-11-01T07:00:00Z', local: '2026-11-01T02:00:00-05:00', notes: [] })
})

test('a preview shows the effects of exclusions, H and jitter', () => {
  const excluded = preview({ ...cron('0 12 * * *'), exclusions: [{ date: '2026-03-08' }], max_runs: 2 })
  assert.deepEqual(
    excluded.next.map(({ at, notes }) => [at, notes[0]?.code]),
    [
      ['2026-03-08T12:00:00Z', 'EXCLUDED'],
      ['2026-03-09T12:00:00Z', undefined],
      ['2026-03-10T12:00:00Z', undefined],
    ],
  )
  const hashed = preview('H 4 * * *', { job_id: 'job-1', jitter_seconds: 30, count: 1 }).next[0]!
  assert.deepEqual(
    hashed.notes.map((note) => note.code),
    ['HASHED', 'JITTERED'],
  )
  assert.ok(hashed.starts_at! > hashed.at)
})

test('warnings point out schedules that are probably not intended', () => {
  assert.deepEqual(warnings('0 10 * * *'), ['TOP_OF_HOUR'])
  assert.deepEqual(warnings('7 10 * * *'), [])
  assert.deepEqual(warnings('7 10 31 * *'), ['SKIPS_MONTHS'])
  assert.deepEqual(warnings('7 10 * * MON#5'), ['SKIPS_MONTHS'])
  assert.deepEqual(warnings('7 10 13 * FRI'), ['BOTH_DAY_FIELDS'])
  assert.deepEqual(warnings('*/45 * * * *'), ['UNEVEN_STEP'])
  assert.deepEqual(warnings('* * * * *', { min_interval_seconds: 300 }), ['BELOW_MIN_INTERVAL'])
  assert.deepEqual(warnings('PT5M', { jitter_seconds: 300 }), ['JITTER_TOO_LONG'])
  assert.deepEqual(warnings('H 4 * * *'), ['HASH_WITHOUT_JOB'])
  assert.deepEqual(warnings('0 7 0 1 1 ? 2020'), ['NO_SLOT_LEFT'])
  const skip = { ...cron('*/5 2 * * *', 'America/New_York'), dst_gap: 'skip' } as const
  assert.deepEqual(warnings(skip, { count: 20 }), ['LOST_TO_CLOCK_CHANGE'])
  assert.deepEqual(warnings(cron('*/5 2 * * *', 'America/New_York'), { count: 20 }), [])
  assert.deepEqual(warnings({ interval: 'PT5M', dst_gap: 'skip' }), ['DST_CHOICE_WITHOUT_EFFECT'])
  assert.equal(SCHEDULE_WARNING_CODES.length, 10)
})

test('the rule that applied is visible, and follows dst_gap and dst_fold', () => {
  const rule = (schedule: SchedulePreviewRequest['schedule']) => {
    const { follows, gap, fold } = preview(schedule).rule
    return `${follows} ${gap} ${fold}`
  }
  assert.equal(rule('0 10 * * *'), 'WALL_CLOCK run_after first')
  assert.equal(rule('0 * * * *'), 'ELAPSED skip both')
  assert.equal(rule('*/5 0-23 * * *'), 'ELAPSED skip both')
  assert.equal(rule('*/5 2 * * *'), 'WALL_CLOCK run_after first')
  assert.equal(rule('0-59 2 * * *'), 'WALL_CLOCK run_after first')
  assert.equal(rule('* * 2 * * *'), 'WALL_CLOCK run_after first')
  assert.match(preview('0 * * * *').rule.text, /^Follows elapsed time, because it runs in all 24 hours: /)
  assert.equal(rule('0 */2 * * *'), 'WALL_CLOCK run_after first')
  assert.equal(
    rule({ ...cron('0 * * * *'), dst_gap: 'run_after', dst_fold: 'first' }),
    'ELAPSED run_after first',
  )
  assert.equal(rule('P1D'), 'WALL_CLOCK run_after first')
  assert.equal(rule('PT24H'), 'FIXED_RATE skip both')
  assert.equal(rule({ type: 'IMMEDIATE' }), 'ONCE run_after first')
})

test('an interval of an existing job is shown on its own grid', () => {
  const answer = previewSchedule(
    { schedule: 'PT7H', count: 1 },
    { now, createdAt: at('2026-03-07T01:00:00Z') },
  )
  assert.ok(answer.ok)
  assert.equal(answer.value.next[0]!.at, '2026-03-07T15:00:00Z')
})

test('a preview refuses every schedule that the parser refuses, and wrong counts and instants', () => {
  const code = (request: SchedulePreviewRequest) => {
    const answer = previewSchedule(request, { now })
    return answer.ok ? 'accepted' : `${answer.error.code} ${answer.error.field}`
  }
  assert.equal(code({ schedule: '0 0 30 2 *' }), 'NEVER_MATCHES day of month')
  assert.equal(code({ schedule: '@daily', count: previewCountMax + 1 }), 'BAD_OPTION count')
  assert.equal(code({ schedule: '@daily', from: 'now' }), 'BAD_INSTANT from')
})

test('every reply has the shape that the contract promises', () => {
  for (const schedule of [
    '*/5 * * * *',
    'H H * * *',
    'every other week',
    'R3/2026-01-01T00:00:00Z/PT1H',
    { type: 'IMMEDIATE' as const },
  ]) {
    const reply = preview(schedule, { jitter_seconds: 10, count: 100 })
    assert.ok(Check(SchedulePreviewReplySchema, reply), JSON.stringify(reply).slice(0, 500))
  }
})
