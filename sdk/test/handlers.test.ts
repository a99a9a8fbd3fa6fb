// `carillon start --handlers FILE`: handlers in the server's own worker, in a process of their own.
import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { type TestContext } from 'node:test'
import { cleanUp } from '../../server/test/cleanup.ts'
import { makeDataDir } from '../../server/test/data-dir.ts'
import { until } from '../../server/test/e2e/api.ts'
import { describeProcess, kill, launcher, Program } from '../../server/test/e2e/program.ts'
import { createClient } from '../src/client.ts'
import { defineJob } from '../src/define-job.ts'

const handlersFile = `
import { defineJob } from '${import.meta.resolve('@carillon/sdk')}'

export const tick = defineJob({ key: 'tick', schedule: '* * * * * *', run: () => 'tock' })

export const after = defineJob({ key: 'after', dependsOn: [tick], run: (_, ctx) => ({ heard: ctx.parents[0].result }) })

export const copy = defineJob({
  key: 'copy',
  async run({ rows }, ctx) {
    if (ctx.checkpoint === undefined) {
      ctx.log.info('begins')
      await ctx.saveCheckpoint({ row: 3 })
      ctx.progress(0.5, 'half')
      await new Promise(() => setInterval(() => {}, 1_000))
    }
    return { rows, from: ctx.checkpoint.row, attempt: ctx.attempt }
  },
})
`

async function setup(t: TestContext, text: string) {
  const dir = await mkdtemp(join(tmpdir(), 'carillon-handlers-'))
  cleanUp(t, () => rm(dir, { recursive: true }))
  const file = join(dir, 'handlers.ts')
  await writeFile(file, text)
  const command = [process.execPath, launcher, 'start', '--handlers', file]
  const program = new Program(t, { command, dataDir: await makeDataDir(t) })
  return { program }
}

test('handlers of a file run in the server, on their schedule and when asked, and go on after kill -9', async (t) => {
  const { program } = await setup(t, handlersFile)
  const url = await program.ready()
  const client = createClient({ url, key: program.key() })
  const worker = await until(async () => {
    const { workers } = await client.workers.list()
    return workers.find(({ handlers }) => handlers.includes('copy')) ?? null
  }, 'a worker runs the handlers')
  assert.deepEqual(worker.handlers.toSorted(), ['after', 'copy', 'tick'])

  const ticked = await until(async () => {
    const { executions } = await client.executions.search({ status: 'SUCCEEDED', kind: 'slot' }).page()
    return executions[0] ?? null
  }, 'the scheduled one ran')
  const { attempts } = await client.executions.get(ticked.execution_id)
  assert.equal(attempts[0]!.response_preview, '"tock"')

  const heard = await until(async () => {
    const { executions } = await client.executions.search({ status: 'SUCCEEDED', kind: 'dependency' }).page()
    return executions[0] ?? null
  }, 'what runs after it ran')
  const { attempts: ofHeard, parents } = await client.executions.get(heard.execution_id)
  assert.equal(ofHeard[0]!.response_preview, '{"heard":"tock"}')
  assert.deepEqual(
    parents!.map(({ status, result }) => [status, result]),
    [['SUCCEEDED', 'tock']],
  )

  const copy = defineJob<{ rows: number }>({ key: 'copy', run() {} })
  const { execution_id: id } = await client.jobs.start(copy, { rows: 9 })
  await until(async () => ((await client.executions.get(id)).checkpoint === undefined ? null : true), 'saved')
  const [pid] = program.tree().filter((one) => describeProcess(one).includes('child-process.ts handlers'))
  kill(pid!, 'SIGKILL')
  const done = await until(async () => {
    const execution = await client.executions.get(id)
    return execution.status === 'SUCCEEDED' ? execution : null
  }, 'the next attempt ended')
  assert.deepEqual(
    done.attempts.map(({ outcome, response_preview: preview }) => [outcome, preview]),
    [
      ['lost', null],
      ['succeeded', '{"rows":9,"from":3,"attempt":2}'],
    ],
  )
  const lines: string[] = []
  for await (const line of client.executions.logs(id)) lines.push(line.message)
  assert.deepEqual(lines, ['begins'])
})

test('starts of a job are executions of one job, with their own payloads and the newest definition', async (t) => {
  const { program } = await setup(
    t,
    `
import { defineJob } from '${import.meta.resolve('@carillon/sdk')}'

export const greet = defineJob({ key: 'greet', schedule: '0 0 1 1 *', run: ({ name }) => 'hello ' + name })
`,
  )
  const url = await program.ready()
  const greet = defineJob<{ name: string }>({ key: 'greet', schedule: '0 0 1 1 *', run() {} })
  const client = createClient({ url, key: program.key() })
  const first = await client.jobs.start(greet, { name: 'Ada' })
  const second = await client.jobs.start(greet, { name: 'Grace' }, { idempotencyKey: 'once' })
  // Another process, which repeats a start: nothing runs twice.
  const other = createClient({ url, key: program.key() })
  const repeated = await other.jobs.start(greet, { name: 'Grace' }, { idempotencyKey: 'once' })
  assert.equal(repeated.execution_id, second.execution_id)
  const changed = defineJob<{ name: string }>({ key: 'greet', tags: ['polite'], run() {} })
  const third = await other.jobs.start(changed, { name: 'Edsger' })
  assert.deepEqual([second.job_id, third.job_id], [first.job_id, first.job_id])
  const results = await Promise.all(
    [first, second, third].map(({ execution_id: id }) =>
      until(async () => {
        const { status, attempts } = await client.executions.get(id)
        return status === 'SUCCEEDED' ? attempts[0]!.response_preview : null
      }, 'it ran'),
    ),
  )
  assert.deepEqual(results, ['"hello Ada"', '"hello Grace"', '"hello Edsger"'])
  const { jobs } = await client.jobs.list({ q: 'greet' }).page()
  assert.deepEqual(jobs.map(({ key }) => key).toSorted(), ['greet', 'start.greet'])
  assert.deepEqual((await client.jobs.get(first.job_id)).tags, ['polite'])

  // A deleted one is made anew.
  await client.jobs.delete(first.job_id)
  const anew = await other.jobs.start(changed, { name: 'Alan' })
  assert.notEqual(anew.job_id, first.job_id)
})

test('a handler that never lets go of the thread costs its process, not the others', async (t) => {
  const { program } = await setup(
    t,
    `
import { defineJob } from '${import.meta.resolve('@carillon/sdk')}'

export const spin = defineJob({
  key: 'spin',
  run(_payload, ctx) {
    // Blocks the thread as an endless loop would, and costs no processor time.
    if (ctx.attempt === 1) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
    return ctx.attempt
  },
})
`,
  )
  const url = await program.ready()
  const client = createClient({ url, key: program.key() })
  const { execution_id: id } = await client.jobs.start(defineJob({ key: 'spin', run() {} }), undefined)
  const done = await until(async () => {
    const execution = await client.executions.get(id)
    return execution.status === 'SUCCEEDED' ? execution : null
  }, 'another process ran it')
  assert.deepEqual(
    done.attempts.map(({ outcome }) => outcome),
    ['lost', 'succeeded'],
  )
})

test('a file that is not there, or has no handlers, is told in one sentence', async (t) => {
  const missing = new Program(t, {
    command: [process.execPath, launcher, 'start', '--handlers', '/no/such/file.ts'],
    dataDir: await makeDataDir(t),
  })
  assert.equal(await missing.exit, 1, missing.said())
  assert.match(missing.stderr, /There is no file \/no\/such\/file\.ts/)
  const { program } = await setup(t, 'export const nothing = 1')
  await until(() => (/exports nothing that defineJob made/.test(program.stderr) ? true : null), 'it is told')
})
