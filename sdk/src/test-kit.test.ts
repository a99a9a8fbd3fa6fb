import assert from 'node:assert/strict'
import test from 'node:test'
import { jobDefaults } from '#contract/job.ts'
import { defineJob } from './define-job.ts'
import { NonRetriableError, RetryAfterError } from './job-errors.ts'
import { createTestKit } from './test-kit.ts'
import { testDefaults } from './test-kit-run.ts'

const now = '2026-03-28T00:00:00Z'
const times = (dates: readonly Date[]) => dates.map((date) => date.toISOString())

test('a schedule runs on the local clock, over the change to summer time', async () => {
  const report = defineJob({
    key: 'report',
    schedule: '30 2 * * *',
    timezone: 'Europe/Berlin',
    run: (_, { scheduledTime }) => scheduledTime.toISOString(),
  })
  const kit = createTestKit({ jobs: [report], now })
  assert.deepEqual(times(kit.next(report, 2)), ['2026-03-28T01:30:00.000Z', '2026-03-29T01:00:00.000Z'])
  const ended = await kit.advance('3d')
  assert.deepEqual(
    ended.map((run) => run.result),
    ['2026-03-28T01:30:00.000Z', '2026-03-29T01:00:00.000Z', '2026-03-30T00:30:00.000Z'],
  )
  assert.deepEqual(
    kit.runs(report).map((run) => [run.status, run.kind, run.attempts.length]),
    Array.from({ length: 3 }, () => ['SUCCEEDED', 'slot', 1]),
  )
  assert.equal(kit.now.toISOString(), '2026-03-31T00:00:00.000Z')
})

test('the zone of the kit is that of schedules that name none', () => {
  const job = defineJob({ key: 'a', schedule: '0 9 * * *', run() {} })
  const kit = createTestKit({ jobs: [job], now, timezone: 'Asia/Tokyo' })
  assert.deepEqual(times(kit.next('a')), ['2026-03-29T00:00:00.000Z'])
})

test('a failed attempt is retried after its delay, with the checkpoint of the one before', async () => {
  const seen: unknown[] = []
  const job = defineJob<{ rows: number }>({
    key: 'copy',
    retry: { initialDelay: '10s', maxRetries: 2 },
    async run({ rows }, ctx) {
      const from = (ctx.checkpoint as number | undefined) ?? 0
      seen.push([ctx.attempt, from])
      for (let row = from; row < rows; row++) {
        await ctx.saveCheckpoint(row + 1)
        ctx.progress((row + 1) / rows, `row ${row}`)
        if (row === 3) throw new Error('the disk is full')
      }
      return { rows }
    },
  })
  const kit = createTestKit({ jobs: [job], now })
  const run = await kit.trigger(job, { rows: 6 })
  assert.equal(run.status, 'RETRYING')
  assert.deepEqual(run.error, { type: 'HANDLER_ERROR', message: 'the disk is full' })
  assert.equal(run.retryAt?.toISOString(), '2026-03-28T00:00:10.000Z')
  await kit.advance(9_999)
  assert.equal(run.attempts.length, 1)
  await kit.advance(1)
  assert.equal(run.status, 'SUCCEEDED')
  assert.deepEqual(run.result, { rows: 6 })
  assert.deepEqual(seen, [
    [1, 0],
    [2, 4],
  ])
  assert.deepEqual(run.progress, { fraction: 1, text: 'row 5' })
})

test('retries are used up, a final error ends at once, and a handler may ask for more patience', async () => {
  const fails = defineJob({
    key: 'fails',
    retry: { maxRetries: 2, backoff: 'FIXED', initialDelay: '1m' },
    run() {
      throw new Error('no')
    },
  })
  const final = defineJob({
    key: 'final',
    run() {
      throw new NonRetriableError('never')
    },
  })
  const later = defineJob({
    key: 'later',
    run(_, { attempt }) {
      if (attempt === 1) throw new RetryAfterError('busy', 600_000)
    },
  })
  const kit = createTestKit({ jobs: [fails, final, later], now })
  const [one, two, three] = [await kit.trigger(fails), await kit.trigger(final), await kit.trigger(later)]
  assert.deepEqual([one.status, two.status, three.status], ['RETRYING', 'FAILED', 'RETRYING'])
  assert.equal(three.retryAt?.toISOString(), '2026-03-28T00:10:00.000Z')
  await kit.advance('2m')
  assert.deepEqual([one.status, one.attempts.length], ['FAILED', 3])
  await kit.advance('8m')
  assert.equal(three.status, 'SUCCEEDED')
})

test('a handler that takes time is timed out, goes silent, or is cancelled, and its signal says so', async () => {
  const reasons: string[] = []
  const slow = (key: string, options: object, span: `${number}m`) =>
    defineJob({
      key,
      retry: { maxRetries: 0 },
      ...options,
      async run(_, { signal }) {
        await kit.sleep(span, signal).catch(() => reasons.push(`${key}: ${signal.reason.message}`))
      },
    })
  const jobs = [
    slow('long', { timeout: '5m' }, '6m'),
    slow('silent', { heartbeatTimeout: '2m' }, '3m'),
    slow('total', { totalTimeout: '1m' }, '3m'),
    slow('cancelled', {}, '9m'),
    slow('quick', { timeout: '5m' }, '4m'),
  ]
  const kit = createTestKit({ jobs, now })
  const runs = []
  for (const job of jobs) runs.push(await kit.trigger(job))
  assert(runs.every((run) => run.status === 'RUNNING'))
  await kit.cancel(runs[3]!)
  await kit.advance('10m')
  assert.deepEqual(
    runs.map((run) => [run.status, run.error?.type ?? null]),
    [
      ['TIMED_OUT', 'TIMEOUT'],
      ['TIMED_OUT', 'HEARTBEAT_TIMEOUT'],
      ['TIMED_OUT', 'TIMEOUT'],
      ['CANCELLED', 'CANCELLED'],
      ['SUCCEEDED', null],
    ],
  )
  assert.deepEqual(reasons, [
    'cancelled: Somebody cancelled this execution.',
    'total: All attempts together took too long.',
    'silent: Nothing was heard of it for 120 s.',
    'long: It took longer than 300 s.',
  ])
  assert.equal(runs[4]!.attempts[0]!.finishedAt?.toISOString(), '2026-03-28T00:04:00.000Z')
})

test('a sign of life keeps an attempt from being silent', async () => {
  const job = defineJob({
    key: 'talks',
    heartbeatTimeout: '1m',
    async run(_, ctx) {
      for (let minute = 0; minute < 5; minute++) {
        await kit.sleep('50s')
        ctx.heartbeat()
      }
    },
  })
  const kit = createTestKit({ jobs: [job], now })
  const run = await kit.trigger(job)
  await kit.advance('10m')
  assert.equal(run.status, 'SUCCEEDED')
})

test('a slot that comes while an earlier execution is under way follows the overlap policy', async () => {
  const every = (overlap: 'SKIP' | 'ALLOW' | 'BUFFER_ONE' | 'CANCEL_RUNNING') =>
    defineJob({
      key: overlap.toLowerCase(),
      schedule: '* * * * *',
      overlap,
      run: (_, { signal }) => kit.sleep('150s', signal),
    })
  const jobs = (['SKIP', 'ALLOW', 'BUFFER_ONE', 'CANCEL_RUNNING'] as const).map(every)
  const kit = createTestKit({ jobs, now })
  await kit.advance('4m')
  const statuses = jobs.map((job) => kit.runs(job).map((run) => run.status))
  assert.deepEqual(statuses, [
    ['SUCCEEDED', 'SKIPPED', 'SKIPPED', 'RUNNING'],
    ['SUCCEEDED', 'RUNNING', 'RUNNING', 'RUNNING'],
    ['SUCCEEDED', 'RUNNING', 'SKIPPED', 'PENDING'],
    ['CANCELLED', 'CANCELLED', 'CANCELLED', 'RUNNING'],
  ])
})

test('two sleeps at once are one wait, however they end', async () => {
  const job = defineJob({ key: 'both', run: () => Promise.all([kit.sleep('1m'), kit.sleep('2m')]) })
  const kit = createTestKit({ jobs: [job], now, realMs: 2_000 })
  const run = await kit.trigger(job)
  await kit.advance('90s')
  assert.equal(run.status, 'RUNNING')
  await kit.advance('30s')
  assert.equal(run.status, 'SUCCEEDED')
})

test('max_runs, exclusions, calendars and intervals from the end are the server’s', async () => {
  const thrice = defineJob({
    key: 'thrice',
    schedule: {
      cron_expression: '0 9 * * *',
      max_runs: 3,
      exclusions: [{ calendar: 'holidays' }, { date: '2026-03-30' }],
    },
    run() {},
  })
  const rest = defineJob({
    key: 'rest',
    schedule: { every_seconds: 3_600, after_completion: true },
    timeout: '1h',
    run: () => kit.sleep('30m'),
  })
  const calendars = { holidays: [{ date: '2026-03-28' }] }
  const kit = createTestKit({ jobs: [thrice, rest], now, calendars })
  await kit.advance('4h')
  assert.deepEqual(times(kit.runs(rest).map((run) => run.scheduledTime)), [
    '2026-03-28T01:00:00.000Z',
    '2026-03-28T02:30:00.000Z',
    '2026-03-28T04:00:00.000Z',
  ])
  await kit.advance('30d')
  assert.deepEqual(times(kit.runs(thrice).map((run) => run.scheduledTime)), [
    '2026-03-29T09:00:00.000Z',
    '2026-03-31T09:00:00.000Z',
    '2026-04-01T09:00:00.000Z',
  ])
})

test('mistakes are named: a schedule that is none, a handler that waits on a real clock', async () => {
  const wrong = defineJob({ key: 'wrong', schedule: '61 * * * *', run() {} })
  assert.throws(() => createTestKit({ jobs: [wrong], now }), /^TypeError: schedule of wrong: /)
  const stuck = defineJob({ key: 'stuck', run: () => new Promise(() => {}) })
  const kit = createTestKit({ jobs: [stuck], now, realMs: 20 })
  await assert.rejects(kit.trigger(stuck), /the handler of stuck: still running after 20 ms/)
})

test('the defaults of the kit are the defaults of the server', () => {
  const { max_retries, backoff, initial_delay_ms, max_delay_ms, timeout_seconds } = jobDefaults
  assert.deepEqual(testDefaults.retry, { max_retries, backoff, initial_delay_ms, max_delay_ms })
  assert.equal(testDefaults.timeoutMs, timeout_seconds * 1_000)
})
