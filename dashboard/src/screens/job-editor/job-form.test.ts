import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EXECUTORS, fieldsOf } from '@carillon/contract/executors/list.ts'
import type { JobRequest } from '@carillon/contract/job.ts'
import {
  blankJob,
  errorsLeft,
  formOfRequest,
  type JobForm,
  patchOf,
  readForm,
  shortened,
} from './job-form.ts'

const full: JobRequest = {
  name: 'Report',
  key: 'report',
  description: 'mails it',
  schedule: { type: 'CRON', cron_expression: '0 9 * * 1-5', timezone: 'Europe/Berlin' },
  execution: {
    type: 'http',
    callback_url: 'http://127.0.0.1:7420/echo',
    method: 'PUT',
    headers: { 'X-Key': '***', Accept: 'a: b' },
    payload: { a: [1, { b: 'c' }] },
    timeout_seconds: 600,
    total_timeout_seconds: 6_000,
  },
  retry_policy: {
    max_retries: 5,
    backoff: 'LINEAR',
    initial_delay_ms: 10,
    max_delay_ms: 20,
    auto_redrive_after_seconds: 60,
  },
  priority: 2,
  tags: ['a', 'b c'],
  overlap_policy: 'BUFFER_ONE',
  misfire_policy: 'SKIP',
  misfire_window_seconds: 60,
  jitter_seconds: 30,
  concurrency_limit: 2,
  concurrency_key: { key: 'warehouse', limit: 3 },
  metadata: { team: 'data' },
}
const shell: JobRequest = {
  ...full,
  execution: {
    type: 'shell',
    command: '/bin/x',
    args: ['--a', 'b c'],
    env: { A: 'b=c' },
    timeout_seconds: 1,
  },
}
const after: JobRequest = {
  ...full,
  depends_on: [{ job_id: '0198c5a2-7d31-7c44-9a55-3f0e6b1d2c00', on: 'completion' }],
}
delete after.schedule
const both: JobRequest = { ...after, schedule: { type: 'CRON', cron_expression: '0 9 * * *' } }

for (const [name, request] of Object.entries({ full, shell, after, both })) {
  test(`a job that nobody touched is sent as it was: ${name}`, () => {
    assert.deepEqual(readForm(formOfRequest(request)), { request, errors: [] })
    assert.equal(patchOf(request, readForm(formOfRequest(request)).request).patch, null)
  })
}

const edited = (change: Partial<JobForm>, request = full) =>
  patchOf(request, readForm({ ...formOfRequest(request), ...change }).request)

test('an edit sends the changed fields and nothing else', () => {
  const form = formOfRequest(full)
  assert.deepEqual(edited({ priority: '3', description: '' }).patch, { priority: 3, description: null })
  assert.deepEqual(edited({ own: { ...form.own, headers: 'X-Key: ***' } }).patch, {
    execution: { headers: { Accept: null } },
  })
  assert.deepEqual(edited({ schedule: { ...form.schedule, times: '10:00' } }).patch, {
    schedule: { cron_expression: '0 10 * * 1-5' },
  })
})

test('a schedule or an executor of another type replaces the old one as a whole', () => {
  const { schedule, own } = formOfRequest(full)
  const every = edited({ schedule: { ...schedule, kind: 'every', timezone: '' } }).patch as JobRequest
  assert.deepEqual(every.schedule, { type: 'INTERVAL', every_seconds: 300 })
  const worker = edited({ executor: 'worker', own: { ...own, handler: 'h' }, payload: '' })
    .patch as JobRequest
  assert.deepEqual(worker.execution, {
    type: 'worker',
    handler: 'h',
    timeout_seconds: 600,
    total_timeout_seconds: 6_000,
  })
})

test('a null in a changed payload is refused, because a merge patch would take it away', () => {
  assert.equal(edited({ payload: '{"a":null}' }).errors[0]?.pointer, '/execution/payload')
  assert.deepEqual(
    edited({ priority: '1' }, { ...full, execution: { ...full.execution, payload: { a: null } } }).errors,
    [],
  )
})

test('an invalid field value is reported with the pointer of its field', () => {
  const { errors } = readForm({
    ...blankJob,
    timeout: 'long',
    payload: '{',
    own: { ...blankJob.own, headers: 'nonsense' },
    schedule: { ...blankJob.schedule, every: '' },
  })
  assert.deepEqual(
    errors.map(({ pointer }) => pointer),
    [
      '/schedule#every',
      '/name',
      '/execution/payload',
      '/execution/callback_url',
      '/execution/headers',
      '/execution/timeout_seconds',
    ],
  )
})

test('an address that is none is reported together with the other mistakes', () => {
  for (const address of ['example.com/hook', 'not a url', 'ftp://example.com', 'http://']) {
    const own = { ...blankJob.own, callback_url: address }
    const { errors } = readForm({ ...blankJob, payload: '{', own })
    assert.deepEqual(
      errors.map(({ pointer }) => pointer),
      ['/name', '/execution/payload', '/execution/callback_url'],
      address,
    )
  }
})

test('a new job sends only fields that differ from the defaults', () => {
  const { request } = readForm({
    ...blankJob,
    name: 'hello',
    own: { ...blankJob.own, callback_url: 'http://127.0.0.1:7420/echo' },
  })
  assert.deepEqual(shortened(request), {
    name: 'hello',
    schedule: { type: 'INTERVAL', every_seconds: 300 },
    execution: { callback_url: 'http://127.0.0.1:7420/echo' },
  })
  assert.deepEqual(shortened(full).retry_policy, full.retry_policy)
})

for (const type of EXECUTORS) {
  test(`the form has every field of ${type}`, () => {
    const own = fieldsOf(type).map(([name, field]) => {
      const word = (field.shape === 'text' && field.choices?.[0]) || 'a'
      return [name, field.shape === 'text' ? word : field.shape === 'list' ? ['a', 'b'] : { A: 'b' }]
    })
    const execution = { type, ...Object.fromEntries(own), timeout_seconds: 1 }
    assert.deepEqual(readForm(formOfRequest({ ...full, execution })).request.execution, execution)
  })
}

test('correcting one field of a refused request leaves the errors of the others', () => {
  const pointers = [
    '/key',
    '/tags/1',
    '/execution/callback_url',
    '/execution/headers/x',
    '/schedule/timezone',
    '/retry_policy/max_retries',
  ]
  const errors = pointers.map((pointer) => ({ pointer, detail: 'is wrong' }))
  const left = (now: JobRequest) => errorsLeft(errors, full, now).map(({ pointer }) => pointer)
  assert.deepEqual(left(structuredClone(full)), pointers)
  assert.deepEqual(left({ ...full, tags: ['one'] }), pointers.toSpliced(1, 1))
  assert.deepEqual(
    left({ ...full, execution: { ...full.execution, callback_url: 'http://b/' } }),
    pointers.toSpliced(2, 1),
  )
  assert.deepEqual(left({ ...full, schedule: '@daily' }), pointers.toSpliced(4, 1))
})
