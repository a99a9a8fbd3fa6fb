import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import test from 'node:test'
import { JobRequest } from '@carillon/contract/job.ts'
import { assertProblem, setupApp } from '../../../test/app.ts'
import { epochMs } from '../../lib/time/epoch.ts'
import { ApiError } from '../http/api-error.ts'
import { executionStatusWords, jobStatusWords } from '../http/words.ts'
import { CONFIG_FIELDS, OTHER_FIELDS, type ReadOptions, readOtherSpellings } from './other-spellings.ts'

const now = epochMs(Date.UTC(2026, 0, 1))
const read = (body: unknown, as: ReadOptions['as'] = 'create') => readOtherSpellings(body, { as, now })
const canonical = {
  name: 'a',
  schedule: { type: 'CRON', cron_expression: '0 9 * * *', timezone: 'Europe/Berlin' },
  depends_on: [{ job_id: '0198c5a2-7d31-7c44-9a55-3f0e6b1d2c00', on: 'success' }],
  execution: { type: 'http', callback_url: 'https://a.example/', method: 'POST', payload: { type: 'Http' } },
  retry_policy: { max_retries: 3, backoff: 'EXPONENTIAL' },
  overlap_policy: 'SKIP',
  misfire_policy: 'FIRE_ALL',
}

/** The pointer and the text of the refusal. */
function refusalOf(body: unknown, as: ReadOptions['as'] = 'create') {
  try {
    read(body, as)
  } catch (error) {
    assert(error instanceof ApiError)
    return `${error.errors[0]!.pointer} ${error.errors[0]!.detail}`
  }
  assert.fail('it was accepted')
}

test('a canonical body, an unknown field and a body that is no object are left alone', () => {
  for (const body of [canonical, { ...canonical, colour: 'red' }, {}, [], null, 'text', 7]) {
    for (const as of ['create', 'replace', 'patch'] as const) assert.equal(read(body, as), null)
  }
})

test('words of closed sets are read in any case, and a payload is never touched', () => {
  const shouted = {
    ...canonical,
    schedule: { ...canonical.schedule, type: 'cron', dst_gap: 'SKIP' },
    depends_on: [{ ...canonical.depends_on[0], on: 'Success' }],
    execution: { ...canonical.execution, type: 'HTTP', method: 'post' },
    retry_policy: { max_retries: 3, backoff: 'exponential' },
    overlap_policy: 'skip',
    misfire_policy: 'Fire_All',
  }
  const before = structuredClone(shouted)
  const expected = { ...canonical, schedule: { ...canonical.schedule, dst_gap: 'skip' } }
  assert.deepEqual(read(shouted)?.body, expected)
  assert.deepEqual(read(shouted, 'patch')?.body, expected)
  assert.deepEqual(shouted, before)
  assert.equal(read({ overlap_policy: 'never' }), null)
})

test('every other spelling names a field of a job, and every part stays as it was given', () => {
  const properties = JobRequest.properties as unknown as Record<string, { properties?: object }>
  for (const [name, { to }] of Object.entries(OTHER_FIELDS)) {
    const [part, field] = to
    assert(!(name in properties), name)
    assert(field in properties[part]!.properties!, name)
  }
  const body = read({ ...canonical, max_attempts: 4 })?.body
  assert.deepEqual(body, canonical)
})

test('a zone beside a text is the zone of that text: cron, an interval, English', () => {
  const scheduleOf = (schedule: string, timezone: string) => read({ schedule, timezone })?.body['schedule']
  const timezone = 'Europe/Berlin'
  assert.deepEqual(scheduleOf('0 9 * * *', 'europe/berlin'), {
    type: 'CRON',
    cron_expression: '0 9 * * *',
    timezone,
  })
  assert.deepEqual(scheduleOf('PT5M', timezone), { type: 'INTERVAL', interval: 'PT5M', timezone })
  assert.deepEqual(scheduleOf('every day at 9 in Berlin', timezone), {
    type: 'CRON',
    cron_expression: '0 9 * * *',
    timezone,
  })
  // A text that means nothing is refused where all texts are.
  assert.deepEqual(read({ schedule: 'whenever', timezone })?.body, { schedule: 'whenever' })
})

test('a body that contradicts itself is refused by the name of the field', () => {
  const cases: [unknown, string][] = [
    [{ max_attempts: 3, max_retries: 3 }, '/max_attempts contradicts /max_retries; give one of the two'],
    [
      { max_attempts: 3, retry_policy: { max_retries: 3 } },
      '/max_attempts contradicts /retry_policy/max_retries; give one of the two',
    ],
    [
      { retry_policy: { max_retries: 3, max_attempts: 3 } },
      '/retry_policy/max_attempts contradicts /retry_policy/max_retries; give one of the two',
    ],
    [
      { timezone: 'UTC', schedule: { cron_expression: '0 9 * * *', timezone: 'Europe/Berlin' } },
      '/timezone contradicts /schedule/timezone; give one of the two',
    ],
    [
      { timezone: 'UTC', schedule: 'every day at 9 in Berlin' },
      '/timezone contradicts /schedule; give one of the two',
    ],
    [{ schedule: '0 9 * * *', type: 'one_time' }, '/type contradicts /schedule; give one of the two'],
    [
      { schedule: '0 9 * * *', cron_expression: '0 8 * * *' },
      '/cron_expression contradicts /schedule; give one of the two',
    ],
    [
      { timeout_sec: 5, execution: { timeout_seconds: 6 } },
      '/timeout_sec contradicts /execution/timeout_seconds; give one of the two',
    ],
    [
      { callback_url: 'https://a.example', executor_config: { url: 'https://b.example' } },
      '/executor_config/url contradicts /callback_url; give one of the two',
    ],
    [
      { type: 'recurring', cron_expression: '0 9 * * *', next_run_at: '2026-01-02T09:00:00Z' },
      '/next_run_at is computed from the schedule; leave it out',
    ],
    [{ status: 'paused' }, '/status must be ACTIVE in a new job; PATCH /jobs/{job_id}/pause pauses it'],
  ]
  for (const [body, text] of cases) assert.equal(refusalOf(body), text)
})

test('spellings that agree are one', () => {
  const body = {
    max_attempts: 4,
    max_retries: 3,
    retry_backoff: 'linear',
    retry_policy: { max_attempts: 4, max_retries: 3, backoff: 'LINEAR' },
    schedule: '0 9 * * *',
    schedule_cron: '0 9 * * *',
    type: 'recurring',
    schedule_type: 'cron',
    timeout_sec: 5,
    timeout_seconds: 5,
  }
  assert.deepEqual(read(body)?.body, {
    retry_policy: { max_retries: 3, backoff: 'LINEAR' },
    schedule: { type: 'CRON', cron_expression: '0 9 * * *' },
    execution: { timeout_seconds: 5 },
  })
})

test('a value that cannot be converted is refused in its own words', () => {
  assert.equal(refusalOf({ max_attempts: 0 }), '/max_attempts must be a whole number from 1 to 101')
  assert.equal(refusalOf({ max_attempts: '3' }), '/max_attempts must be a whole number from 1 to 101')
  assert.equal(
    refusalOf({ retry_delay_seconds: 0.5 }),
    '/retry_delay_seconds must be a whole number from 1 to 86400',
  )
  assert.equal(refusalOf({ executor_config: 'x' }), '/executor_config must be an object')
  assert.equal(
    refusalOf({ schedule: '@daily', timezone: 'Mars/Phobos' }),
    '/timezone must be the name of a time zone, such as Europe/Berlin',
  )
})

test('a handler is named after the job only beside a payload, without any target, and if it can be', () => {
  const payload = { a: 1 }
  assert.deepEqual(read({ name: 'send_report', payload })?.body['execution'], {
    type: 'worker',
    handler: 'send_report',
    payload,
  })
  assert.equal(read({ name: 'send_report', payload: null }, 'replace')?.warnings.length, 1)
  const callback_url = 'https://a.example'
  assert.deepEqual(read({ name: 'a', payload, execution: { callback_url } }), {
    body: { name: 'a', execution: { callback_url, payload } },
    warnings: [],
    places: new Map([['/execution/payload', '/payload']]),
  })
  assert.deepEqual(read({ name: 'a', timeout_seconds: 5 })?.body, {
    name: 'a',
    execution: { timeout_seconds: 5 },
  })
  assert.deepEqual(read({ name: 'a', payload }, 'patch')?.body, { name: 'a', execution: { payload } })
  assert.match(refusalOf({ name: 'Daily Report', payload }), /^\/handler is required: .*"Daily Report"/)
})

test('in a change, null removes the field, nothing is inferred, and a status is not read', () => {
  assert.deepEqual(
    read({ max_attempts: null, timezone: null, handler: 'b', status: 'active' }, 'patch')?.body,
    {
      status: 'active',
      retry_policy: { max_retries: null },
      schedule: { timezone: null },
      execution: { handler: 'b' },
    },
  )
})

test('a part of the wrong type stays, with the fields beside it, for validation to refuse', () => {
  const body = {
    schedule: 7,
    timezone: 'UTC',
    execution: [],
    payload: 1,
    retry_policy: 'often',
    max_attempts: 2,
  }
  assert.deepEqual(read(body)?.body, body)
})

const echo = 'http://127.0.0.1:7420/echo'

test('mistakes are told in the spelling of the sender', async (t) => {
  const { call } = await setupApp(t)
  const send = (changes: object) =>
    call('POST', '/jobs', {
      name: 'a',
      schedule: '0 9 * * *',
      timezone: 'UTC',
      callback_url: echo,
      ...changes,
    })
  assertProblem(await send({ timeout_sec: 0 }), 'INVALID_REQUEST', '/timeout_sec')
  assertProblem(await send({ headers: { a: 1 } }), 'INVALID_REQUEST', '/headers/a')
  assertProblem(await send({ headers: { Host: 'a' } }), 'INVALID_REQUEST', '/headers/Host')
  assertProblem(await send({ schedule: '0 99 * * *' }), 'INVALID_SCHEDULE', '/schedule')
  assertProblem(await send({ handler: 'b' }), 'INVALID_REQUEST', '/callback_url')
  assertProblem(await send({ colour: 'red' }), 'INVALID_REQUEST', '/colour')
  assertProblem(
    await send({ executor_config: { colour: 'red' } }),
    'INVALID_REQUEST',
    '/executor_config/colour',
  )
  assertProblem(await send({ callback_url: undefined, timeout_sec: 5 }), 'INVALID_REQUEST', '/callback_url')
  assertProblem(await send({ schedule: undefined, type: 'one_time' }), 'INVALID_SCHEDULE', '/scheduled_time')
  assertProblem(await send({ schedule: undefined }), 'INVALID_SCHEDULE', '/type')
  const named = await send({ timeout_sec: 0 })
  assert.match(named.json().detail, /^\/timeout_sec /)
})

test('an executor type that is not built is refused as such, in any case', async (t) => {
  const { call } = await setupApp(t)
  const send = (type: string) => call('POST', '/jobs', { name: 'a', schedule: '@daily', execution: { type } })
  for (const type of ['kafka', 'Kafka', 'LAMBDA', 'gRPC'])
    assertProblem(await send(type), 'NOT_SUPPORTED_YET', '/execution/type')
})

test('PUT by key and PATCH take other spellings, and answer in the canonical form', async (t) => {
  const { call } = await setupApp(t)
  const put = await call('PUT', '/jobs/by-key/report', { name: 'send', schedule: '@daily', payload: 1 })
  assert.equal(put.statusCode, 201, put.body)
  assert.equal(put.json().execution.handler, 'send')
  assert.equal(put.json().warnings.length, 1)
  const again = await call('PUT', '/jobs/by-key/report', { name: 'send', schedule: '@daily', payload: 1 })
  assert.equal(again.statusCode, 200, again.body)
  assert.equal(again.json().version, 1)
  assert.equal(again.json().warnings.length, 1)

  const path = `/jobs/${put.json().job_id}`
  const patch = (body: object) => call('PATCH', path, body, { 'if-match': '*' })
  const changed = await patch({
    max_attempts: 2,
    timezone: 'Europe/Berlin',
    timeout_sec: 7,
    overlap_policy: 'allow',
  })
  assert.equal(changed.statusCode, 200, changed.body)
  const job = changed.json()
  assert.equal(job.retry_policy.max_retries, 1)
  assert.equal(job.schedule.timezone, 'Europe/Berlin')
  assert.equal(job.schedule.cron_expression, '@daily')
  assert.equal(job.execution.timeout_seconds, 7)
  assert.equal(job.execution.payload, 1)
  assert.equal(job.overlap_policy, 'ALLOW')
  assertProblem(await patch({ timeout_sec: 0 }), 'INVALID_REQUEST', '/timeout_sec')
  assertProblem(await patch({ status: 'paused' }), 'INVALID_REQUEST', '/status')
  assertProblem(await patch({ next_run_at: '2027-01-01T00:00:00Z' }), 'INVALID_SCHEDULE', '/next_run_at')
})

test('a repeated request in another spelling is the same request, though time has passed', async (t) => {
  const { call, world } = await setupApp(t)
  const body = {
    name: 'a',
    schedule: 'every other thursday at 3:00',
    timezone: 'Europe/Berlin',
    callback_url: echo,
  }
  const send = (changes = {}) => call('POST', '/jobs', { ...body, ...changes }, { 'idempotency-key': 'one' })
  const first = await send()
  assert.equal(first.statusCode, 201, first.body)
  // The first slot is over, so the text now begins a week later.
  await world.advance(3 * 3_600_000)
  const second = await send()
  assert.equal(second.statusCode, 201, second.body)
  assert.equal(second.json().job_id, first.json().job_id)
  assertProblem(await send({ timeout_sec: 5 }), 'IDEMPOTENCY_KEY_REUSED')
})

test('a filter of jobs and of executions has words in any case', async (t) => {
  const { call } = await setupApp(t)
  const bulk = await call('POST', '/jobs/bulk', { action: 'Pause', filter: { status: 'scheduled' } })
  assert.equal(bulk.statusCode, 202, bulk.body)
  assert.deepEqual(bulk.json().filter, { status: 'ACTIVE' })
  const cancel = await call('POST', '/executions/cancel', { filter: { status: 'queued' } })
  assert.deepEqual(cancel.json().filter, { status: 'PENDING' })
  for (const query of [
    '/executions?status=Timeout&kind=SLOT&error_type=http_error',
    '/dead-letters?reason=worker_lost',
    '/graph-runs?status=failed',
  ]) {
    const answer = await call('GET', query)
    assert.equal(answer.statusCode, 200, answer.body)
  }
  assertProblem(await call('GET', '/jobs?status=running'), 'INVALID_REQUEST', 'status')
  assertProblem(await call('GET', '/jobs?status=active&status=paused'), 'INVALID_REQUEST', 'status')
})

test('no value of another spelling causes a failure, and a refusal points to something that was sent', async (t) => {
  const { call } = await setupApp(t)
  const odd = [null, '', 'x', 'CRON', 7, -1, 0.5, true, [], {}, { type: 'worker' }, [null], 'é'.repeat(5_000)]
  const bases = [{}, { schedule: '@daily', execution: {} }, { schedule: 1, execution: 'a', retry_policy: [] }]
  const names = [...Object.keys(OTHER_FIELDS), 'executor_config', 'status']
  const keys = ['constructor', 'toString', 'a/b~c', 'type', 'handler', 'url']
  odd.push(...keys.map((key) => ({ [key]: 1 })))
  for (const name of names) {
    for (const value of odd) {
      for (const base of bases) {
        const sent: Record<string, unknown> = { name: 'a', callback_url: echo, ...base, [name]: value }
        const answer = await call('POST', '/jobs', sent)
        assert(answer.statusCode < 500, JSON.stringify(sent))
        if (answer.statusCode === 201) continue
        const [, first = '', second] = answer.json().errors[0].pointer.split('/')
        const part = sent[first]
        assert(second === undefined || (typeof part === 'object' && part !== null), answer.body)
      }
    }
  }
})

test('the documentation has every other spelling', () => {
  const text = readFileSync(new URL('../../../../docs/api.md', import.meta.url), 'utf8')
  for (const [name, { to, note }] of Object.entries(OTHER_FIELDS)) {
    const row = `| \`${name}\` | \`${to.join('.')}\`${note === undefined ? '' : `: ${note}`} |`
    assert(text.includes(row), `missing in docs/api.md: ${row}`)
  }
  for (const [name, field] of Object.entries(CONFIG_FIELDS))
    assert(text.includes(`\`${name}\` is \`${field}\``))
  const words = { ...jobStatusWords.status, ...executionStatusWords.status }
  for (const [other, word] of Object.entries(words)) {
    assert.match(text, new RegExp(`\`${other}\`[^,|]* (is|are) ${word}`), other)
  }
})
