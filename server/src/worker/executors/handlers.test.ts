import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { type TestContext } from 'node:test'
import { startScriptedApi } from '../../../../sdk/test/scripted-api.ts'
import { cleanUp } from '../../../test/cleanup.ts'
import { epochMs } from '../../lib/time/epoch.ts'
import type { LocalCall } from '../../ports/executor.ts'
import { loadHandlers, putHandlerJobs } from './handlers.ts'

async function writeHandlers(t: TestContext, text: string): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'carillon-handlers-'))
  cleanUp(t, () => rm(dir, { recursive: true }))
  const file = join(dir, 'handlers.ts')
  await writeFile(
    file,
    `import { defineJob, NonRetriableError, RetryAfterError } from '${import.meta.resolve('@carillon/sdk')}'\n${text}`,
  )
  return file
}

const call: LocalCall = {
  execution: { type: 'worker', handler: 'greet', labels: [], timeout_seconds: 300 },
  tenantId: 't',
  jobId: 'j',
  jobName: 'a job',
  executionId: 'e',
  kind: 'trigger',
  slot: epochMs(1_767_225_600_000),
  attempt: 2,
  idempotencyKey: 'i',
  payload: '{"name":"Ada"}',
  checkpoint: 7,
  timeoutMs: 300_000,
  runId: null,
  parents: [],
}

function listen() {
  const said: unknown[] = []
  const context = {
    signal: new AbortController().signal,
    log: (level: string, message: string) => void said.push([level, message]),
    note: (note: object) => void said.push(note),
    used() {},
  }
  return { said, context }
}

test('handlers that a file exports by name, as default, or twice run under their key', async (t) => {
  const file = await writeHandlers(
    t,
    `export const greet = defineJob<{ name: string }>({ key: 'greet', async run({ name }, ctx) {
       ctx.log.info('from', ctx.checkpoint, ctx.scheduledTime.toISOString(), ctx.attempt, ctx.idempotencyKey)
       ctx.log.info(JSON.stringify(ctx.parents), 'in', ctx.graphRunId)
       ctx.progress(0.5, 'half')
       await ctx.saveCheckpoint({ row: 8 })
       return { hello: name }
     } })
     const other = defineJob({ key: 'other', run() {} })
     export const notAJob = 3
     export default [other, greet]`,
  )
  const { names, executor } = await loadHandlers(file)
  assert.deepEqual(names.toSorted(), ['greet', 'other'])
  const { said, context } = listen()
  const parents = [{ jobId: 'p', jobKey: 'k', executionId: 'q', status: 'SUCCEEDED', result: [3] } as const]
  const inRun = { ...call, runId: 'r', parents }
  assert.deepEqual(await executor.run(inRun, context), { error: null, preview: '{"hello":"Ada"}' })
  assert.deepEqual(said, [
    ['info', 'from 7 2026-01-01T00:00:00.000Z 2 i'],
    ['info', `${JSON.stringify(parents)} in r`],
    { progress: 0.5, message: 'half' },
    { checkpoint: { row: 8 } },
  ])
})

test('how a handler fails is passed on, and a long result is cut', async (t) => {
  const file = await writeHandlers(
    t,
    `export default defineJob<string>({ key: 'greet', run(what) {
       if (what === 'final') throw new NonRetriableError('no use')
       if (what === 'later') throw new RetryAfterError('busy', 5_000)
       if (what === 'long') return 'ü'.repeat(5_000)
       throw new Error('x'.repeat(5_000))
     } })`,
  )
  const { executor } = await loadHandlers(file)
  const run = (payload: string) =>
    executor.run({ ...call, payload: JSON.stringify(payload) }, listen().context)
  const failed = (message: string) => ({ error: { type: 'HANDLER_ERROR', message }, preview: null })
  assert.deepEqual(await run('final'), { ...failed('no use'), isFinal: true })
  assert.deepEqual(await run('later'), { ...failed('busy'), retryAfterMs: 5_000 })
  assert.deepEqual(await run('any'), failed('x'.repeat(1_024)))
  assert.deepEqual(await run('long'), { error: null, preview: `"${'ü'.repeat(2_047)}` })
  const stranger = { ...call, execution: { ...call.execution, handler: 'stranger' } } as LocalCall
  assert.deepEqual(await executor.run(stranger, listen().context), failed('This worker has no such handler.'))
})

test('a problem with a handler file is reported in one sentence', async (t) => {
  const refused = async (text: string, words: RegExp) =>
    assert.rejects(loadHandlers(await writeHandlers(t, text)), { name: 'OperatingError', message: words })
  await assert.rejects(
    loadHandlers(join(tmpdir(), 'no-such-file.ts')),
    /There is no file \/.*no-such-file.ts/,
  )
  await refused('export const a = 1', /exports nothing that defineJob made/)
  await refused('throw new Error("on its own")', /could not be loaded: on its own/)
  await refused(`export default defineJob({ key: 'A' })`, /could not be loaded: run must be a function/)
  await refused(
    `export const a = defineJob({ key: 'a', run() {} }); export const b = defineJob({ key: 'a', run() {} })`,
    /exports two jobs with the key a/,
  )
})

test('jobs that have a schedule are put into the API', async (t) => {
  const api = await startScriptedApi(t, () => ({ status: 201, body: { job_id: 'the-id' } }))
  const file = await writeHandlers(
    t,
    `export const a = defineJob({ key: 'a', run() {} })
     export const b = defineJob({ key: 'b', schedule: '@daily', run() {} })`,
  )
  const { jobs } = await loadHandlers(file)
  assert.deepEqual([...(await putHandlerJobs(jobs, { url: api.url, key: 'k' }))], [['b', 'the-id']])
  assert.deepEqual(
    api.asked.map(({ path }) => path),
    ['/api/v1/jobs/by-key/b'],
  )
})
