// Code bundles in a real Carillon: uploaded over HTTP, run with limits, refused when they do not match the job.
import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { chmod } from 'node:fs/promises'
import { dirname } from 'node:path'
import test, { type TestContext } from 'node:test'
import { gzipSync } from 'node:zlib'
import { packTar, type TarPart } from '../bundle.ts'
import { makeDataDir } from '../data-dir.ts'
import { callApi, type ExecutionItem, until } from './api.ts'
import { Program } from './program.ts'

interface Attempted extends ExecutionItem {
  attempts: { attempt_number: number; error: { type: string; message: string } | null; result: unknown }[]
}

async function start(t: TestContext, env: Record<string, string> = {}) {
  const dataDir = await makeDataDir(t)
  // The user that bundles of a server of root run as passes through it.
  await chmod(dirname(dataDir), 0o711)
  const program = new Program(t, {
    dataDir,
    env: { CARILLON_ARTIFACTS: 'on', CARILLON_LOG_LEVEL: 'warn', ...env },
  })
  const url = await program.ready()
  const api = callApi(url, program.key())
  const put = async (id: string, parts: readonly TarPart[]) => {
    const body = gzipSync(packTar(parts))
    const headers = { authorization: `Bearer ${program.key()}`, 'content-type': 'application/gzip' }
    const answer = await fetch(`${url}/api/v1/artifacts/${id}?sha256=${hash('sha256', body)}`, {
      method: 'PUT',
      headers,
      body,
    })
    assert(answer.ok, await answer.text())
    return hash('sha256', body)
  }
  /** How the last attempt ended. */
  const run = async (execution: object, more: object = {}) => {
    const job = { name: 'by hand', schedule: '0 0 1 1 *', retry_policy: { max_retries: 0 }, ...more }
    const artifact = { type: 'artifact', artifact_id: 'a', ...execution }
    const { job_id: jobId } = await api.post<{ job_id: string }>('/jobs', { ...job, execution: artifact })
    const { execution_id: id } = await api.post<{ execution_id: string }>(`/jobs/${jobId}/trigger`, {})
    const item = await until(async () => {
      const found = await api.get<Attempted>(`/executions/${id}`)
      return ['SUCCEEDED', 'FAILED', 'TIMED_OUT'].includes(found.status) ? found : null
    }, `${id} is over`)
    return { ...item, last: item.attempts.find((one) => one.attempt_number === item.attempt_number)! }
  }
  return { api, put, run }
}

test('a function of an uploaded bundle is run, goes on from its checkpoint, and is replaced', async (t) => {
  const { put, run, api } = await start(t)
  const main = (word: string) => [
    {
      path: 'main.ts',
      content: `
        export async function run(payload: { name: string }, context: any) {
          context.log.info('attempt ' + context.attempt)
          if (context.checkpoint === undefined) {
            context.progress(0.5, 'half')
            context.saveCheckpoint({ row: 5 })
            throw new Error('not yet')
          }
          return { ${word}: payload.name, row: context.checkpoint.row }
        }`,
    },
  ]
  const first = await put('a', main('hello'))
  const retrying = { retry_policy: { max_retries: 1, initial_delay_ms: 100 } }
  const execution = { entrypoint: 'main:run', payload: { name: 'world' }, sha256: first }
  const one = await run(execution, retrying)
  assert.equal(one.status, 'SUCCEEDED', JSON.stringify(one))
  assert.match(JSON.stringify(one.last), /hello.*world.*row.*5/)
  const failed = one.attempts.find((attempt) => attempt.attempt_number === 1)!
  assert.deepEqual([failed.error?.type, failed.error?.message], ['HANDLER_ERROR', 'not yet'])
  const { logs } = await api.get<{ logs: { message: string }[] }>(`/executions/${one.execution_id}/logs`)
  const said = logs.map(({ message }) => message)
  assert(said.includes('attempt 1') && said.includes('attempt 2'), said.join())

  const second = await put('a', main('goodbye'))
  const { error } = (await run(execution)).last
  const message = `/execution/sha256: the artifact a has the checksum ${second}, and the job wants ${first}.`
  assert.deepEqual([error?.type, error?.message], ['EXIT_CODE', message])
  assert.match(JSON.stringify((await run({ ...execution, sha256: second }, retrying)).last), /goodbye/)
})

test('an artifact that uses too much memory or processor is stopped, and the next one runs', async (t) => {
  const { put, run } = await start(t, {
    CARILLON_ARTIFACT_MEMORY_MB: '128',
    CARILLON_ARTIFACT_CPU_SECONDS: '1',
  })
  await put('a', [
    {
      path: 'main.js',
      content: `
        export const memory = () => { const all = []; for (;;) all.push({ n: all.length }) }
        export const cpu = () => { for (;;); }
        export const fine = () => 'fine'`,
    },
    { path: 'bin/fine.sh', mode: 0o755, content: '#!/bin/sh\necho fine, too\n' },
  ])
  const errorOf = async (entrypoint: string) => (await run({ entrypoint })).last.error?.message
  assert.equal(await errorOf('main:memory'), 'Used more than 128 MB of memory (CARILLON_ARTIFACT_MEMORY_MB)')
  assert.equal(await errorOf('main:cpu'), 'Used more than 1 s of CPU time (CARILLON_ARTIFACT_CPU_SECONDS)')
  assert.match(JSON.stringify((await run({ entrypoint: 'main:fine' })).last), /fine/)
  assert.match(JSON.stringify((await run({ entrypoint: 'bin/fine.sh' })).last), /fine, too/)
  assert.equal(
    await errorOf('bin/absent'),
    '/execution/entrypoint: there is no file bin/absent in the bundle.',
  )
})
