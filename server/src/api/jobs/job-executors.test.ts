import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { assertProblem, setupApp } from '../../../test/app.ts'
import type { ShellExecution } from '../../domain/executors/shell.ts'
import { defaultTenantId } from '../../domain/tenants/tenant.ts'

async function setup(t: TestContext) {
  const parts = await setupApp(t)
  const { call, memory } = parts
  const create = (execution: object) => call('POST', '/jobs', { name: 'a', schedule: '@daily', execution })
  const patch = (jobId: string, execution: object) =>
    call('PATCH', `/jobs/${jobId}`, { execution }, { 'if-match': '*' })
  const stored = async (jobId: string) => (await memory.jobs.get(defaultTenantId, jobId))!.execution
  return { ...parts, create, patch, stored }
}

const shell = { type: 'shell', command: '/usr/bin/report', args: ['--all'], env: { TOKEN: 'secret' } }
const artifact = { type: 'artifact', artifact_id: 'reports', entrypoint: 'main:run' }
const worker = { type: 'worker', handler: 'send-report', labels: ['gpu', 'eu-west', 'gpu'] }

test('a job of each type is shown as it was given, without values that may be secret', async (t) => {
  const { create } = await setup(t)
  const shown = async (execution: object) => {
    const answer = await create(execution)
    assert.equal(answer.statusCode, 201, answer.body)
    return answer.json().execution
  }
  const timeouts = { total_timeout_seconds: 2_592_000, heartbeat_timeout_seconds: 5 }
  assert.deepEqual(await shown({ ...worker, payload: [1], ...timeouts }), {
    type: 'worker',
    handler: 'send-report',
    labels: ['eu-west', 'gpu'],
    payload: [1],
    timeout_seconds: 300,
    ...timeouts,
  })
  assert.deepEqual(await shown({ type: 'worker', handler: 'a' }), {
    ...{ type: 'worker', handler: 'a', labels: [], timeout_seconds: 300 },
  })
  assert.deepEqual(await shown(shell), { ...shell, env: { TOKEN: '***' }, timeout_seconds: 300 })
  assert.deepEqual(await shown({ type: 'shell', command: '/a' }), {
    ...{ type: 'shell', command: '/a', args: [], env: {}, timeout_seconds: 300 },
  })
  const sha256 = 'AB'.repeat(32)
  assert.deepEqual(await shown({ ...artifact, sha256 }), {
    ...artifact,
    ...{ sha256: sha256.toLowerCase(), timeout_seconds: 300 },
  })
  assert.deepEqual(await shown({ callback_url: 'http://a.example/', headers: { a: 'b' } }), {
    ...{ type: 'http', callback_url: 'http://a.example/', method: 'POST', headers: { a: '***' } },
    timeout_seconds: 300,
  })
})

test('a total timeout may be shorter than the timeout for a single attempt', async (t) => {
  const { create } = await setup(t)
  const answer = await create({ ...worker, timeout_seconds: 100, total_timeout_seconds: 10 })
  assert.equal(answer.statusCode, 201, answer.body)
})

const many = (count: number, text: (n: number) => string) =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [text(n), '']))

const refused: [string, object, string][] = [
  ['no callback_url', {}, 'callback_url'],
  ['no handler', { type: 'worker' }, 'handler'],
  ['no command', { type: 'shell' }, 'command'],
  ['no artifact', { type: 'artifact', entrypoint: 'main:run' }, 'artifact_id'],
  ['no entrypoint', { type: 'artifact', artifact_id: 'a' }, 'entrypoint'],
  ['a field of another type', { callback_url: 'http://a.example/', command: '/a' }, 'command'],
  ['a URL for a worker', { ...worker, callback_url: 'http://a.example/' }, 'callback_url'],
  ['headers for a command', { ...shell, headers: {} }, 'headers'],
  ['labels for an artifact', { ...artifact, labels: [] }, 'labels'],
  ['a type that nobody knows', { type: 'smtp' }, 'type'],
  ['a handler with a space', { type: 'worker', handler: 'a b' }, 'handler'],
  ['a label with a comma', { ...worker, labels: ['a,b'] }, 'labels/0'],
  ['33 labels', { ...worker, labels: Array.from({ length: 33 }, (_, n) => `l${n}`) }, 'labels'],
  ['a relative command', { type: 'shell', command: 'bin/a' }, 'command'],
  ['a long command', { type: 'shell', command: `/${'a'.repeat(4_096)}` }, 'command'],
  ['101 arguments', { ...shell, args: Array(101).fill('') }, 'args'],
  ['a long argument', { ...shell, args: ['a'.repeat(4_097)] }, 'args/0'],
  ['more than 32 KB of arguments', { ...shell, args: Array(9).fill('a'.repeat(4_096)) }, 'args'],
  ['51 variables', { ...shell, env: many(51, (n) => `A${n}`) }, 'env'],
  ['a variable that C cannot name', { ...shell, env: { '1A': '' } }, 'env/1A'],
  ['an empty name of a variable', { ...shell, env: { '': '' } }, 'env/'],
  ['a variable of ours', { ...shell, env: { CARILLON_ATTEMPT: '1' } }, 'env/CARILLON_ATTEMPT'],
  ['more than 8 KB of variables', { ...shell, env: { A: 'a'.repeat(8_192) } }, 'env'],
  ['a short checksum', { ...artifact, sha256: 'ab' }, 'sha256'],
  ['a total timeout of 0', { ...worker, total_timeout_seconds: 0 }, 'total_timeout_seconds'],
  ['a heartbeat timeout of 4 s', { ...worker, heartbeat_timeout_seconds: 4 }, 'heartbeat_timeout_seconds'],
  ['too large a payload', { ...worker, payload: 'x'.repeat(256 * 1024) }, 'payload'],
  ...['../a:run', '/a:run', 'a/../b', 'a:', ':run', 'a:b:c', 'a:1b', 'a//b', 'a\\b', './a', 'a/'].map(
    (entrypoint): [string, object, string] => [
      `the entrypoint ${entrypoint}`,
      { ...artifact, entrypoint },
      'entrypoint',
    ],
  ),
]

test('each invalid field of an execution is named, for every type', async (t) => {
  const { create } = await setup(t)
  for (const [what, execution, field] of refused) {
    const answer = await create(execution)
    assert.equal(answer.statusCode, 400, what)
    assertProblem(answer, 'INVALID_REQUEST', `/execution/${field}`)
  }
  const foreign = await create({ callback_url: 'http://a.example/', command: '/a' })
  assert.match(foreign.json().detail, /^\/execution\/command belongs to shell/)
})

test('entrypoints within the bundle are taken', async (t) => {
  const { create } = await setup(t)
  for (const entrypoint of ['main:run', 'src/main.js:$run_1', 'bin/report', '..a/b', 'run']) {
    const answer = await create({ ...artifact, entrypoint })
    assert.equal(answer.statusCode, 201, `${entrypoint}: ${answer.body}`)
  }
})

test('a change within the type is merged; variables that are shown as stars keep their values', async (t) => {
  const { create, patch, stored } = await setup(t)
  const { job_id: jobId } = (await create({ ...shell, env: { TOKEN: 'secret', A: '1', B: '2' } })).json()
  const env = { TOKEN: '***', A: '3', B: null, C: '4' }
  assert.equal((await patch(jobId, { env })).statusCode, 200)
  const { args, ...rest } = (await stored(jobId)) as ShellExecution
  assert.deepEqual([args, rest.env], [['--all'], { TOKEN: 'secret', A: '3', C: '4' }])
  assertProblem(await patch(jobId, { env: { D: '***' } }), 'INVALID_REQUEST', '/execution/env/D')
  // Unlike names of headers, names of variables are case-sensitive.
  assertProblem(await patch(jobId, { env: { token: '***' } }), 'INVALID_REQUEST', '/execution/env/token')
  const headers = { A: '***' }
  const http = { type: 'http', callback_url: 'http://a.example/', headers }
  assertProblem(await patch(jobId, http), 'INVALID_REQUEST', '/execution/headers/A')
  // Variables belong to the program that they were given for.
  assertProblem(await patch(jobId, { command: '/usr/bin/env' }), 'INVALID_REQUEST', '/execution/env/TOKEN')
  const none = { total_timeout_seconds: null }
  await patch(jobId, { total_timeout_seconds: 60 })
  assert.equal((await stored(jobId)).total_timeout_seconds, 60)
  await patch(jobId, none)
  assert.equal((await stored(jobId)).total_timeout_seconds, undefined)
})

test('another type replaces the execution as a whole', async (t) => {
  const { create, patch, stored } = await setup(t)
  const { job_id: jobId } = (await create({ ...shell, payload: 1, timeout_seconds: 7 })).json()
  assertProblem(await patch(jobId, { handler: 'a' }), 'INVALID_REQUEST', '/execution/handler')
  assertProblem(await patch(jobId, { type: 'worker' }), 'INVALID_REQUEST', '/execution/handler')
  assert.equal((await patch(jobId, { type: 'worker', handler: 'a' })).statusCode, 200)
  assert.deepEqual(await stored(jobId), { type: 'worker', handler: 'a', labels: [], timeout_seconds: 300 })
})

test('a payload of its own is checked against the tier and not against a method that the job does not have', async (t) => {
  const { create, call } = await setup(t)
  const { job_id: jobId } = (await create(worker)).json()
  const trigger = (payload: unknown) => call('POST', `/jobs/${jobId}/trigger`, { payload_override: payload })
  assert.equal((await trigger({ a: 1 })).statusCode, 202)
  assertProblem(await trigger('x'.repeat(256 * 1024)), 'INVALID_REQUEST', '/payload_override')
})

test('an execution shows the URL, handler, command or artifact that it calls', async (t) => {
  const { create, call } = await setup(t)
  const called = async (execution: object) => {
    const { job_id: jobId } = (await create(execution)).json()
    const { execution_id: id } = (await call('POST', `/jobs/${jobId}/trigger`)).json()
    const { executor, callback_url, handler, command, artifact_id } = (
      await call('GET', `/executions/${id}`)
    ).json()
    return [executor, callback_url, handler ?? command ?? artifact_id]
  }
  assert.deepEqual(await called(worker), ['worker', null, 'send-report'])
  assert.deepEqual(await called(shell), ['shell', null, '/usr/bin/report'])
  assert.deepEqual(await called(artifact), ['artifact', null, 'reports'])
  assert.deepEqual(await called({ callback_url: 'http://a.example/' }), [
    'http',
    'http://a.example/',
    undefined,
  ])
})
