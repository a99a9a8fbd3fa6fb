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

/** A job with the given JSON text in the field at the pointer. */
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

test('nothing that a change to a job holds gives a 500', async (t) => {
  const { call } = await setupApp(t)
  const { job_id: jobId } = (await call('POST', '/jobs', jobText('/name', '"a"'))).json()
  const ifMatch = { 'if-match': '*' }
  for (const pointer of pointers) {
    const [first, ...rest] = pointer.split('/').slice(1)
    for (const text of nasty) {
      const nested = rest.reduceRight((inner, key) => `{${JSON.stringify(key)}:${inner}}`, text)
      const patch = first === undefined ? text : `{${JSON.stringify(first)}:${nested}}`
      const patched = await call('PATCH', `/jobs/${jobId}`, patch, ifMatch)
      const put = await call('PUT', '/jobs/by-key/a', jobText(pointer, text))
      for (const { statusCode, body } of [patched, put])
        assert(statusCode < 500, `${pointer}: ${text.slice(0, 60)} gives ${statusCode} ${body.slice(0, 200)}`)
    }
  }
})

test('nothing that the body of another call holds gives a 500', async (t) => {
  const { call } = await setupApp(t)
  const created = await call('POST', '/jobs', jobText('/name', '"a"'))
  const { job_id: jobId } = created.json()
  for (const text of nasty) {
    const bodies = [
      text,
      `{"payload_override":${text}}`,
      `{"execution_ids":${text}}`,
      `{"execution_ids":[${text}]}`,
      `{"filter":${text}}`,
      `{"filter":{},"rate_per_second":${text}}`,
      `{"action":"pause","filter":${text}}`,
      `{"action":"pause","filter":{"tag":${text}},"until":${text}}`,
    ]
    for (const body of bodies) {
      for (const path of [
        `/jobs/${jobId}/trigger`,
        '/dead-letters/redrive',
        '/jobs/bulk',
        `/executions/${jobId}/retry`,
        `/executions/${jobId}/cancel`,
        `/operations/${jobId}/cancel`,
      ]) {
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
      `/operations/${text}`,
    ]
    const queries = [
      'status',
      'start_date',
      'end_date',
      'limit',
      'cursor',
      '__proto__',
      'status[]',
      '',
    ].concat(['q', 'tag', 'page', 'kind', 'error_type', 'dead_letter', 'job_id', 'reason'])
    for (const path of paths) assert((await call('GET', path)).statusCode < 500, path)
    for (const name of queries) {
      for (const path of [
        `/jobs/${jobId}/executions`,
        '/dead-letters',
        '/jobs',
        '/executions',
        '/operations',
      ]) {
        const url = `${path}?${name}=${text}&${name}=${text}`
        assert((await call('GET', url)).statusCode < 500, url)
        assert((await call('GET', `${path}?${name}=${text}`)).statusCode < 500, url)
        assert((await call('GET', `${path}?status=SKIPPED&${name}=${text}`)).statusCode < 500, url)
      }
    }
    assert((await call('DELETE', `/dead-letters/${text}`)).statusCode < 500, text)
    assert((await call('PUT', `/jobs/by-key/${text}`, {})).statusCode < 500, text)
  }
  for (const path of ['/jobs?q', '/jobs?tag', '/executions?q'])
    assertProblem(await call('GET', `${path}=a%00b`), 'INVALID_REQUEST', path.split('?')[1])
})

test('the examples of the OpenAPI document work', async (t) => {
  const { get, call } = await setupApp(t)
  const { paths } = (await get('/openapi.json')).json()
  const examplesOf = (path: string, verb = 'post'): unknown[] => {
    const { example, examples } = paths[`/api/v1${path}`][verb].requestBody.content['application/json']
    return example === undefined
      ? Object.values<{ value: unknown }>(examples).map(({ value }) => value)
      : [example]
  }
  let jobId = ''
  for (const value of examplesOf('/jobs')) {
    // The job that it runs after stands for one that is there.
    const given = value as { depends_on?: object[] }
    const dependsOn = given.depends_on?.map((one) => ({ ...one, job_id: jobId }))
    const answer = await call('POST', '/jobs', {
      ...given,
      ...(dependsOn !== undefined && { depends_on: dependsOn }),
    })
    assert.equal(answer.statusCode, 201, answer.body)
    jobId ||= answer.json().job_id
  }
  const expectAll = async (path: string, status: number, verb: 'POST' | 'PATCH' = 'POST') => {
    for (const value of examplesOf(path, verb.toLowerCase())) {
      const answer = await call(verb, path.replace('{job_id}', jobId), value, { 'if-match': '*' })
      assert.equal(answer.statusCode, status, `${path} ${answer.body}`)
    }
  }
  await expectAll('/jobs/{job_id}', 200, 'PATCH')
  await expectAll('/jobs/{job_id}/pause', 200, 'PATCH')
  await expectAll('/jobs/{job_id}/resume', 200, 'PATCH')
  await expectAll('/jobs/{job_id}/trigger', 202)
  await expectAll('/jobs/bulk', 202)
  await expectAll('/dead-letters/redrive', 202)
})
