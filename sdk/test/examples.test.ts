// The examples, from the source tree, against a real server.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import test, { type TestContext } from 'node:test'
import { makeDataDir } from '../../server/test/data-dir.ts'
import { until } from '../../server/test/e2e/api.ts'
import { Program } from '../../server/test/e2e/program.ts'
import { createClient } from '../src/client.ts'
import { Example } from './example.ts'

async function setup(t: TestContext) {
  const program = new Program(t, { dataDir: await makeDataDir(t) })
  const url = await program.ready()
  const key = program.key()
  const run = (name: string, ...args: string[]) =>
    new Example(t, { file: join(import.meta.dirname, '../examples', name), args, url, key })
  return { client: createClient({ url, key }), run }
}

test('a scheduled job with a typed payload runs in a worker, which leaves when it is stopped', async (t) => {
  const { client, run } = await setup(t)
  const example = run('scheduled-worker.ts')
  await example.says(/report for support, 2x/)
  await example.says(/report for sales, 1x, of \d{4}-\d\d-\d\dT\d\d:\d\d:[0-5][05]\.000Z/)
  const executionId = /started (\S+)/.exec(example.stdout)![1]!
  const execution = await until(async () => {
    const found = await client.executions.get(executionId)
    return found.status === 'SUCCEEDED' ? found : null
  }, 'it succeeded')
  assert.equal(execution.attempts.length, 1)
  const lines: string[] = []
  for await (const { message } of client.executions.logs(executionId)) lines.push(message)
  assert.deepEqual(lines, ['sending 2 to support'])
  example.child.kill('SIGTERM')
  assert.equal(await example.exit, 0, example.said())
  const { workers } = await client.workers.list()
  assert.deepEqual(
    workers.filter(({ handlers }) => handlers.includes('send-report')).map(({ status }) => status),
    ['LEFT'],
  )
})

test('a long job survives kill -9 of its worker and goes on where it was', async (t) => {
  const { client, run } = await setup(t)
  const first = run('long-job.ts', 'start')
  await first.says(/row 5 of 30\n/)
  first.child.kill('SIGKILL')
  await first.exit
  const executionId = /started (\S+)/.exec(first.stdout)![1]!
  const second = run('long-job.ts')
  await second.says(/done/)
  const rows = (text: string) => [...text.matchAll(/^row (\d+) of 30$/gm)].map((match) => Number(match[1]))
  const [before, after] = [rows(first.stdout), rows(second.stdout)]
  assert.deepEqual(
    before,
    Array.from(before, (_, at) => at + 1),
  )
  // An attempt killed between a checkpoint and the line about it has not printed that line.
  const from = Number(/attempt 2 begins at row (\d+)/.exec(second.stdout)![1])
  assert(from === before.length || from === before.length + 1, `${from} after ${before.length}`)
  assert.deepEqual(
    after,
    Array.from({ length: 30 - from }, (_, at) => from + at + 1),
  )
  const execution = await until(async () => {
    const found = await client.executions.get(executionId)
    return found.status === 'SUCCEEDED' ? found : null
  }, 'it succeeded')
  assert.deepEqual(
    execution.attempts.map(({ outcome }) => outcome),
    ['lost', 'succeeded'],
  )
})

test('a signed callback is verified, answered with 202 and completed later', async (t) => {
  const { run } = await setup(t)
  const example = run('signed-callbacks.ts')
  assert.equal(await example.exit, 0, example.said())
  assert.equal(example.stdout, 'a stranger gets 401\nthe callback SUCCEEDED\n')
})

test('jobs run in sequence with the results of the jobs before them, and a failed run is resumed where it failed', async (t) => {
  const { run } = await setup(t)
  const good = run('pipeline.ts')
  assert.equal(await good.exit, 0, good.said())
  assert.equal(good.stdout, 'loaded {"rows":[1,2,3],"sum":6}\nthe run SUCCEEDED, skipped: alert\n')
  const bad = run('pipeline.ts', 'fail')
  assert.equal(await bad.exit, 0, bad.said())
  assert.deepEqual(bad.stdout.split('\n'), [
    'alert: load FAILED',
    'the run FAILED, skipped: nothing',
    'loaded {"rows":[1,2,3],"sum":6}',
    'resumed, the run SUCCEEDED, skipped: alert',
    '',
  ])
})
