import assert from 'node:assert/strict'
import test from 'node:test'
import { assertProblem, setupApp } from '../../../test/app.ts'

// As JSON text, because some of it no JSON.stringify writes.
const nasty = [
  'null',
  'true',
  '0',
  '-0',
  '-1',
  '1.5',
  '1e999',
  '-1e999',
  '1e308',
  '9007199254740993',
  '""',
  '" "',
  '"\\u0000"',
  '"\\ud800"',
  '"__proto__"',
  '"constructor"',
  '"\\r\\n"',
  `"${'x'.repeat(300_000)}"`,
  '[]',
  '[[]]',
  '[null]',
  '["__proto__"]',
  '{}',
  '{"__proto__":{"a":1}}',
  '{"constructor":{"prototype":{}}}',
  '{"toString":1,"valueOf":2,"hasOwnProperty":3}',
  '{"":""}',
  '{"\\u0000":1}',
  '{"type":"CRON","cron_expression":"* * * * * * *"}',
  '{"type":"ONE_TIME","scheduled_time":"9999-99-99T99:99:99Z"}',
  `${'['.repeat(63)}${']'.repeat(63)}`,
  `${'['.repeat(60)}${']'.repeat(60)}`,
  `${'{"a":'.repeat(200_000)}1${'}'.repeat(200_000)}`,
]

const pointers = [
  '',
  '/name',
  '/description',
  '/schedule',
  '/schedule/type',
  '/schedule/cron_expression',
  '/schedule/timezone',
  '/schedule/scheduled_time',
  '/schedule/interval',
  '/schedule/every_seconds',
  '/schedule/start_at',
  '/schedule/end_at',
  '/schedule/dst_gap',
  '/execution',
  '/execution/type',
  '/execution/callback_url',
  '/execution/method',
  '/execution/headers',
  '/execution/headers/x',
  '/execution/payload',
  '/execution/timeout_seconds',
  '/retry_policy',
  '/retry_policy/max_retries',
  '/retry_policy/backoff',
  '/priority',
  '/tags',
  '/tags/0',
  '/overlap_policy',
  '/misfire_policy',
  '/misfire_window_seconds',
  '/metadata',
  '/metadata/x',
]

/** A job whose field at the pointer is the given JSON text. */
function jobText(pointer: string, text: string): string {
  if (pointer === '') return text
  const job = {
    name: 'a',
    schedule: { cron_expression: '@daily' },
    execution: { callback_url: 'http://127.0.0.1:7420/echo', headers: {} },
    retry_policy: {},
    tags: [],
    metadata: {},
  }
  const [first, second, third] = pointer.slice(1).split('/') as [string, string?, string?]
  let place = job as unknown as Record<string, unknown>
  for (const key of [first, second, third].filter((one) => one !== undefined).slice(0, -1))
    place = place[key] as Record<string, unknown>
  place[(third ?? second ?? first) as string] = 'HERE'
  return JSON.stringify(job).replace('"HERE"', () => text)
}

test('nothing that a body holds gives a 500: it is a job or a problem document', async (t) => {
  const { call } = await setupApp(t)
  const counts = { taken: 0, refused: 0 }
  for (const pointer of pointers) {
    for (const text of nasty) {
      const answer = await call('POST', '/jobs', jobText(pointer, text))
      const what = `${pointer}: ${text.slice(0, 60)} gives ${answer.statusCode} ${answer.body.slice(0, 200)}`
      if (answer.statusCode === 201) {
        counts.taken += 1
        const { job_id: jobId } = answer.json()
        assert.equal((await call('GET', `/jobs/${jobId}`)).statusCode, 200, what)
      } else {
        counts.refused += 1
        assert(answer.statusCode >= 400 && answer.statusCode < 500, what)
        assertProblem(answer, answer.json().code)
      }
    }
  }
  assert(counts.taken > 50 && counts.refused > 500, JSON.stringify(counts))
})

test('nor does what other calls are sent', async (t) => {
  const { call } = await setupApp(t)
  const created = await call('POST', '/jobs', jobText('/name', '"a"'))
  const { job_id: jobId } = created.json()
  for (const text of nasty) {
    const bodies = [
      text,
      `{"payload_override":${text}}`,
      `{"execution_ids":${text}}`,
      `{"execution_ids":[${text}]}`,
    ]
    for (const body of bodies) {
      for (const path of [`/jobs/${jobId}/trigger`, '/dead-letters/redrive']) {
        const { statusCode } = await call('POST', path, body)
        assert(statusCode < 500, `${path} ${body.slice(0, 60)} gives ${statusCode}`)
      }
    }
  }
  const texts = [
    '',
    '%00',
    '%ud800',
    '..',
    '%2e%2e',
    '%F0%9F%98%80',
    "'",
    '%25',
    '1e999',
    'null',
    '-1',
    'x'.repeat(250),
  ]
  for (const text of texts) {
    const paths = [
      `/jobs/${text}`,
      `/jobs/${text}/executions`,
      `/executions/${text}`,
      `/dead-letters/${text}`,
    ]
    const queries = ['status', 'start_date', 'end_date', 'limit', 'cursor', '__proto__', 'status[]', '']
    for (const path of paths) assert((await call('GET', path)).statusCode < 500, path)
    for (const name of queries) {
      for (const path of [`/jobs/${jobId}/executions`, '/dead-letters']) {
        const url = `${path}?${name}=${text}&${name}=${text}`
        assert((await call('GET', url)).statusCode < 500, url)
        assert((await call('GET', `${path}?${name}=${text}`)).statusCode < 500, url)
        assert((await call('GET', `${path}?status=SKIPPED&${name}=${text}`)).statusCode < 500, url)
      }
    }
    assert((await call('DELETE', `/dead-letters/${text}`)).statusCode < 500, text)
  }
})

test('the examples of the OpenAPI document work', async (t) => {
  const { get, call } = await setupApp(t)
  const { paths } = (await get('/openapi.json')).json()
  const examplesOf = (path: string): unknown[] => {
    const { example, examples } = paths[path].post.requestBody.content['application/json']
    return example === undefined
      ? Object.values<{ value: unknown }>(examples).map(({ value }) => value)
      : [example]
  }
  let jobId = ''
  for (const value of examplesOf('/api/v1/jobs')) {
    const answer = await call('POST', '/jobs', value)
    assert.equal(answer.statusCode, 201, answer.body)
    jobId = answer.json().job_id
  }
  for (const value of examplesOf('/api/v1/jobs/{job_id}/trigger'))
    assert.equal((await call('POST', `/jobs/${jobId}/trigger`, value)).statusCode, 202)
  for (const value of examplesOf('/api/v1/dead-letters/redrive'))
    assert.equal((await call('POST', '/dead-letters/redrive', value)).statusCode, 202)
})
