import assert from 'node:assert/strict'
import test from 'node:test'
import type { FieldError } from '@carillon/contract/problem.ts'
import { type Answer, assertProblem, setupApp } from '../../../test/app.ts'

/** Each error as one line. */
function linesOf(answer: Answer): string[] {
  const { errors } = JSON.parse(answer.body) as { errors: FieldError[] }
  return errors.map(({ pointer, detail, code }) => `${code} ${pointer} ${detail}`)
}

function pointersOf(answer: Answer): string[] {
  return (JSON.parse(answer.body).errors as FieldError[]).map(({ pointer }) => pointer)
}

test('unknown fields are told beside missing ones, wrong types, wrong forms and wrong meanings', async (t) => {
  const { call } = await setupApp(t)
  const answer = await call('POST', '/jobs', {
    colour: 'x',
    timeout_second: 5,
    key: 'Nightly Report',
    priority: 11,
    tags: ['ok', 7, ''],
    overlap_policy: 'SKIPP',
    retry_policy: { max_retries: '3', backof: 'FIXED' },
    schedule: { cron_expression: '61 * * * *' },
    metadata: { [`${'x'.repeat(65)}`]: 'a' },
  })
  assertProblem(answer, 'INVALID_REQUEST', '/name')
  assert.deepEqual(linesOf(answer), [
    'REQUIRED /name is required',
    'REQUIRED /execution is required',
    'UNKNOWN_FIELD /colour is not a known field',
    'UNKNOWN_FIELD /timeout_second is not a known field',
    'WRONG_FORMAT /key must be a key of 1 to 128 lowercase letters, digits, dots, underscores and hyphens, such as nightly-report',
    'UNKNOWN_FIELD /retry_policy/backof is not a known field; did you mean backoff?',
    'WRONG_TYPE /retry_policy/max_retries must be a whole number from 0 to 100, not a string',
    'OUT_OF_RANGE /priority must be a whole number from 1 to 10',
    'WRONG_TYPE /tags/1 must be a string of 1 to 64 characters, not a whole number',
    'WRONG_LENGTH /tags/2 must be a string of 1 to 64 characters; it is empty',
    'NOT_ALLOWED /overlap_policy must be one of ALLOW, SKIP, BUFFER_ONE, BUFFER_ALL, CANCEL_RUNNING; did you mean SKIP?',
    `undefined /metadata/${'x'.repeat(64)} must have a name of 1 to 64 characters`,
    'OUT_OF_RANGE /schedule/cron_expression 61 is out of range: the minute is 0 to 59.',
  ])
})

test('the mistakes of another spelling are told together, in that spelling', async (t) => {
  const { call } = await setupApp(t)
  const answer = await call('POST', '/jobs', {
    name: 'report',
    handler: 'no spaces',
    timeout_sec: 0,
    retry_backoff: 'SOMETIMES',
    schedule_cron: '61 * * * *',
    tags: ['ok', 7],
  })
  assert.deepEqual(pointersOf(answer).toSorted(), [
    '/handler',
    '/retry_backoff',
    '/schedule_cron',
    '/tags/1',
    '/timeout_sec',
  ])
})

test('a change that its schema refuses is told its wrong meanings too, as far as the given fields show them', async (t) => {
  const { call } = await setupApp(t)
  const job = { name: 'a', schedule: '@daily', execution: { callback_url: 'http://127.0.0.1:7420/echo' } }
  const { job_id: jobId } = (await call('POST', '/jobs', job)).json()
  const patch = (body: object) => call('PATCH', `/jobs/${jobId}`, body, { 'if-match': '*' })
  const unknown = await patch({
    colour: 'red',
    priority: 11,
    schedule: { cron_expression: '61 * * * *' },
    execution: { callback_url: 'http://127.0.0.1:7420/echo', headers: { Host: 'x' } },
    metadata: { '': 'a' },
  })
  assertProblem(unknown, 'INVALID_REQUEST', '/colour')
  assert.deepEqual(pointersOf(unknown), [
    '/colour',
    '/priority',
    '/execution/headers/Host',
    '/metadata/',
    '/schedule/cron_expression',
  ])
  // Parts of a schedule and of an execution, which are whole with the job: nothing is known of them.
  const parts = await patch({ colour: 1, schedule: { timezone: 'UTC' }, execution: { timeout_seconds: 5 } })
  assert.deepEqual(pointersOf(parts), ['/colour'])
  const missing = await patch({ name: null, schedule: '61 * * * *', jitter_seconds: 5 })
  assertProblem(missing, 'INVALID_REQUEST', '/name')
  assert.deepEqual(pointersOf(missing), ['/name', '/schedule'])
})

test('the mistakes of an execution, a schedule, dependencies and a tier are told together', async (t) => {
  const { call } = await setupApp(t)
  const jobId = '0198c5a2-7d31-7c44-9a55-3f0e6b1d2c00'
  const answer = await call('POST', '/jobs', {
    name: 'a',
    schedule: { cron_expression: '0 0 * * *', timezone: 'Europe/Lodnon' },
    depends_on: [{ job_id: jobId }, { job_id: jobId }, { job_id: jobId }],
    execution: { type: 'worker', callback_url: 'http://127.0.0.1/', method: 'POST', command: '/bin/true' },
    metadata: { '': 'a' },
  })
  assertProblem(answer, 'INVALID_REQUEST', '/execution/callback_url')
  assert.equal(
    answer.json().detail,
    '/execution/callback_url belongs to http; the type is worker. 6 more errors are listed.',
  )
  assert.deepEqual(pointersOf(answer), [
    '/execution/callback_url',
    '/execution/method',
    '/execution/command',
    '/execution/handler',
    '/metadata/',
    '/depends_on/1/job_id',
    '/depends_on/2/job_id',
  ])
})

test('an error with another code than the first says its own', async (t) => {
  const { call } = await setupApp(t)
  const job = { name: 'a', execution: { callback_url: 'http://127.0.0.1:7420/echo', env: { A: '1' } } }
  const answer = await call('POST', '/jobs', {
    ...job,
    schedule: { cron_expression: '0 0 * * *', timezone: 'Europe/Lodnon' },
  })
  assertProblem(answer, 'INVALID_REQUEST', '/execution/env')
  const [, zone] = answer.json().errors
  assert.deepEqual(
    [zone.pointer, zone.code, zone.suggestions],
    ['/schedule/timezone', 'UNKNOWN_ZONE', ['Europe/London']],
  )
  const first = await call('POST', '/jobs', {
    ...job,
    execution: { callback_url: 'http://127.0.0.1:7420/echo' },
    schedule: { cron_expression: '0 0 * * *', timezone: 'Europe/Lodnon' },
  })
  assertProblem(first, 'INVALID_SCHEDULE', '/schedule/timezone')
})

test('the mistakes of path, body, query string and headers are told together, in this order', async (t) => {
  const { call } = await setupApp(t)
  const answer = await call(
    'PUT',
    '/jobs/by-key/Not%20A%20Key?dry_run=maybe&dryrun=1',
    { name: 7 },
    { 'if-none-match': '*' },
  )
  assertProblem(answer, 'INVALID_REQUEST', 'key')
  assert.deepEqual(linesOf(answer), [
    'WRONG_FORMAT key must be a key of 1 to 128 lowercase letters, digits, dots, underscores and hyphens, such as nightly-report',
    'REQUIRED /execution is required',
    'WRONG_TYPE /name must be a string of 1 to 255 characters, not a whole number',
    'UNKNOWN_FIELD dryrun is not a known parameter',
    'WRONG_TYPE dry_run must be true or false',
    'undefined /schedule is required, unless depends_on names jobs to run after',
  ])
  const posted = await call('POST', '/jobs', {}, { 'idempotency-key': 'two words' })
  assert.equal(
    linesOf(posted).at(-2),
    'WRONG_FORMAT Idempotency-Key must be 1 to 255 printable ASCII characters without spaces, such as order-4711',
  )
})

test('all wrong parameters of a list are told, one that is given twice too', async (t) => {
  const { call } = await setupApp(t)
  const answer = await call('GET', '/executions?limit=0&status=DONE&tag=a&tag=b&start_date=today&q=%00')
  assert.deepEqual(linesOf(answer), [
    'REPEATED tag is given twice; give it once',
    'WRONG_FORMAT q has a NUL character',
    'NOT_ALLOWED status must be one of WAITING_DEPENDENCIES, PENDING, RUNNING, RETRYING, SUCCEEDED, FAILED, TIMED_OUT, CANCELLING, CANCELLED, SKIPPED',
    'WRONG_LENGTH start_date must be a day such as 2026-01-31, or a time such as 2026-01-31T09:00:00Z; it has 5 characters',
    'OUT_OF_RANGE limit must be a whole number from 1 to 200',
  ])
})

test('parts that are not built yet are named first, beside all other mistakes', async (t) => {
  const { call } = await setupApp(t)
  const answer = await call('POST', '/jobs', { on_failure: {}, nmae: 'a', execution: { topic: 'x' } })
  assertProblem(answer, 'NOT_SUPPORTED_YET', '/on_failure')
  assert.deepEqual(pointersOf(answer).slice(0, 4), ['/on_failure', '/execution/topic', '/name', '/nmae'])
})

test('of many mistakes 20 are listed and the others are counted', async (t) => {
  const { call } = await setupApp(t)
  const tags = Array.from({ length: 30 }, () => 7)
  const answer = await call('POST', '/jobs', { name: 'a', tags })
  const { errors, errors_omitted: omitted, detail } = answer.json()
  // The execution, the tags and the schedule.
  assert.deepEqual([errors.length, omitted], [20, 12])
  assert.equal(detail, '/execution is required. 31 more errors; the first 20 are listed.')
})

test('a wrong time and a wrong id are refused with an example', async (t) => {
  const { call } = await setupApp(t)
  const job = { name: 'a', execution: { callback_url: 'http://127.0.0.1:7420/echo' } }
  const schedule = { type: 'ONE_TIME', scheduled_time: 'tomorrow' }
  assert.match(
    (await call('POST', '/jobs', { ...job, schedule })).json().detail,
    /^\/schedule\/scheduled_time must be a day such as 2026-01-31, or a time such as 2026-01-31T09:00:00Z/,
  )
  assert.match(
    (await call('POST', '/dead-letters/redrive', { execution_ids: ['x'] })).json().detail,
    /^\/execution_ids\/0 must be a UUID such as [0-9a-f-]{36}/,
  )
})

test('both ends of a range, and fields that do not go with an action, are told together', async (t) => {
  const { call } = await setupApp(t)
  const dates = await call('GET', '/executions?start_date=2026-02-30&end_date=2026-13-01')
  assert.deepEqual(pointersOf(dates), ['start_date', 'end_date'])
  const bulk = { action: 'resume', filter: { tag: 'a' }, reason: 'x', payload_override: 1 }
  assert.deepEqual(pointersOf(await call('POST', '/jobs/bulk', bulk)), ['/reason', '/payload_override'])
  const { job_id: jobId } = (
    await call('POST', '/jobs', {
      name: 'a',
      schedule: '@daily',
      execution: { callback_url: 'http://127.0.0.1:7420/echo' },
    })
  ).json()
  const range = { from: '2026-02-30T00:00:00Z', to: '2026-13-01T00:00:00Z' }
  assert.deepEqual(pointersOf(await call('POST', `/jobs/${jobId}/backfill`, range)), ['/from', '/to'])
  const redrive = await call('POST', '/dead-letters/redrive', { ids: [], rate_per_second: 0 })
  assert.deepEqual(pointersOf(redrive), ['/execution_ids', '/ids', '/rate_per_second'])
  assert.deepEqual(pointersOf(await call('POST', '/dead-letters/redrive', {})), ['/execution_ids'])
})
