import assert from 'node:assert/strict'
import test from 'node:test'
import { type AnyJob, defineJob, isDefinedJob, type JobContext } from './define-job.ts'
import { NonRetriableError, RetryAfterError } from './job-errors.ts'
import { toJobRequest } from './job-request.ts'
import { type JobCall, type JobEnd, runJob } from './run-job.ts'
import type { StandardSchema } from './standard-schema.ts'

/** Takes `{team}` and adds a default, as a schema library would. */
const teamSchema: StandardSchema<{ team: string }, { team: string; copies: number }> = {
  '~standard': {
    version: 1,
    vendor: 'test',
    validate: async (value) => {
      const team = (value as { team?: unknown } | undefined)?.team
      return typeof team === 'string'
        ? { value: { team, copies: 1 } }
        : {
            issues: [
              { message: 'Required', path: ['team'] },
              { message: 'Odd', path: [{ key: 'a' }, 0] },
              { message: 'Bad' },
            ],
          }
    },
  },
}

const call: JobCall = {
  executionId: 'e',
  jobId: 'j',
  attempt: 2,
  scheduledTime: new Date(0),
  idempotencyKey: 'i',
  payload: undefined,
  checkpoint: { row: 7 },
  graphRunId: null,
  parents: [],
}

async function run(job: AnyJob, payload?: unknown) {
  const said: unknown[] = []
  const end = await runJob(
    job,
    { ...call, payload },
    {
      signal: new AbortController().signal,
      log: (level, message) => said.push([level, message]),
      note: (note) => said.push(note),
      saveCheckpoint: async (json) => void said.push(json),
    },
  )
  return { end, said }
}

test('the payload has the type of the schema, and the handler gets the output of the schema', async () => {
  const job = defineJob({
    key: 'report',
    schema: teamSchema,
    // Does not compile when the type is not that of the schema.
    run: ({ team, copies }) => ({ sent: team.toUpperCase().repeat(copies) }),
  })
  assert.deepEqual((await run(job, { team: 'a' })).end, { kind: 'succeeded', result: '{"sent":"A"}' })
})

test('a payload that does not fit is a final error with all issues', async () => {
  const job = defineJob({ key: 'report', schema: teamSchema, run: () => assert.fail('it must not run') })
  assert.deepEqual((await run(job, { tame: 'a' })).end, {
    kind: 'failed',
    message: 'The payload is not valid: team: Required; a.0: Odd; Bad',
    isFinal: true,
    retryAfterMs: null,
  })
})

test('a handler knows its execution and the checkpoint of the attempt before, and reports its progress', async () => {
  let seen: JobContext | undefined
  const job = defineJob({
    key: 'a',
    async run(_, ctx) {
      seen = ctx
      ctx.progress(0.4, 'x'.repeat(300))
      ctx.progress(Number.NaN)
      ctx.progress(7)
      ctx.heartbeat()
      ctx.log.warn('low', { disk: 3 })
      await ctx.saveCheckpoint({ row: 8, text: 'a\u0000b' })
    },
  })
  const { end, said } = await run(job)
  assert.deepEqual(end, { kind: 'succeeded', result: null })
  const { executionId, jobId, attempt, scheduledTime, idempotencyKey, checkpoint } = seen!
  assert.deepEqual(
    [executionId, jobId, attempt, scheduledTime, idempotencyKey, checkpoint],
    ['e', 'j', 2, new Date(0), 'i', { row: 7 }],
  )
  assert.deepEqual(said, [
    { progress: 0.4, message: `${'x'.repeat(254)}…` },
    { progress: 0 },
    { progress: 1 },
    {},
    ['warn', 'low { disk: 3 }'],
    '{"row":8,"text":"a\ufffdb"}',
  ])
})

test('a checkpoint that is too large or no JSON fails where it is saved', async () => {
  const save = (value: unknown) => defineJob({ key: 'a', run: (_, ctx) => ctx.saveCheckpoint(value) })
  const message = async (value: unknown) => ((await run(save(value))).end as { message: string }).message
  assert.match(await message('x'.repeat(65_535)), /The checkpoint has 65537 bytes as JSON: 65536 at most/)
  assert.match(await message(undefined), /cannot be written as JSON/)
})

test('an error thrown by a handler is the reason of the failure, with its stack in the log', async () => {
  const throwing = (error: unknown) =>
    defineJob({
      key: 'a',
      run() {
        throw error
      },
    })
  const { end, said } = await run(throwing(new Error('the disk is full')))
  assert.deepEqual(end, { kind: 'failed', message: 'the disk is full', isFinal: false, retryAfterMs: null })
  assert.match((said as string[][])[0]![1]!, /^Error: the disk is full\n {4}at /)
  const marks = async (error: unknown) => {
    const { isFinal, retryAfterMs } = (await run(throwing(error))).end as Extract<JobEnd, { kind: 'failed' }>
    return [isFinal, retryAfterMs]
  }
  assert.deepEqual(await marks(new NonRetriableError('no')), [true, null])
  assert.deepEqual(await marks(new RetryAfterError('later', 5_000)), [false, 5_000])
  assert.deepEqual(await marks(new RetryAfterError('much later', 1e9)), [false, 3_600_000])
  assert.deepEqual(await marks('a text'), [false, null])
})

test('a result that is no JSON does not undo the work', async () => {
  const job = defineJob({ key: 'a', run: () => ({ big: 1n }) })
  const { end, said } = await run(job)
  assert.deepEqual(end, { kind: 'succeeded', result: null })
  assert.match(String(said), /^warn,The result cannot be written as JSON/)
})

test('a job is put into the API as it is defined', () => {
  const job = defineJob({
    key: 'nightly.report',
    name: 'Nightly report',
    schedule: '0 2 * * *',
    timezone: 'Europe/London',
    payload: { team: 'a' },
    timeout: '10m',
    totalTimeout: '2h',
    heartbeatTimeout: '30s',
    retry: { maxRetries: 5, initialDelay: '2s', maxDelay: '5m', backoff: 'LINEAR' },
    labels: ['eu'],
    priority: 3,
    tags: ['reporting'],
    overlap: 'BUFFER_ONE',
    misfire: 'SKIP',
    jitter: '1m',
    concurrencyLimit: 2,
    metadata: { owner: 'sales' },
    run() {},
  })
  assert.deepEqual(toJobRequest(job), {
    name: 'Nightly report',
    schedule: { type: 'CRON', cron_expression: '0 2 * * *', timezone: 'Europe/London' },
    execution: {
      type: 'worker',
      handler: 'nightly.report',
      labels: ['eu'],
      payload: { team: 'a' },
      timeout_seconds: 600,
      total_timeout_seconds: 7_200,
      heartbeat_timeout_seconds: 30,
    },
    retry_policy: { max_retries: 5, initial_delay_ms: 2_000, max_delay_ms: 300_000, backoff: 'LINEAR' },
    priority: 3,
    tags: ['reporting'],
    overlap_policy: 'BUFFER_ONE',
    misfire_policy: 'SKIP',
    jitter_seconds: 60,
    concurrency_limit: 2,
    metadata: { owner: 'sales' },
  })
  const bare = defineJob({ key: 'bare', schedule: 'every 5 minutes', run() {} })
  assert.deepEqual(toJobRequest(bare), {
    name: 'bare',
    schedule: 'every 5 minutes',
    execution: { type: 'worker', handler: 'bare' },
  })
  const iso = defineJob({ key: 'iso', schedule: 'PT6H', timezone: 'Asia/Tokyo', run() {} })
  assert.deepEqual(toJobRequest(iso).schedule, { type: 'INTERVAL', interval: 'PT6H', timezone: 'Asia/Tokyo' })
})

test('an invalid definition is refused where it is written, with the wrong part named', () => {
  const define = (options: object) => () => defineJob({ key: 'a', run() {}, ...options } as never)
  assert.throws(define({ key: 'A b' }), /key is "A b"/)
  assert.throws(define({ run: 1 }), /run must be a function/)
  assert.throws(define({ schema: {} }), /schema must be a Standard Schema/)
  assert.throws(define({ timeout: '10 minutes' }), /timeout of a is "10 minutes"/)
  assert.throws(define({ timeout: 1_500 }), /timeout of a is 1500: it must be whole seconds/)
  assert.throws(define({ labels: ['ü'] }), /labels of a: "ü"/)
  assert.throws(
    define({ schedule: 'every day at 10:00', timezone: 'Asia/Tokyo' }),
    /timezone of a goes with cron/,
  )
  assert(isDefinedJob(defineJob({ key: 'a', run() {} })))
  assert(!isDefinedJob({ key: 'a', run() {} }))
})
