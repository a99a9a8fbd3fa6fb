// A handler that kills the process it runs in: after two losses it runs apart from others, after five it is a dead
// letter, and executions that ran beside it run to their end.
import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { type TestContext } from 'node:test'
import { createClient, defineJob } from '@carillon/sdk'
import { cleanUp } from '../cleanup.ts'
import { until } from '../e2e/api.ts'
import { startReceiver } from '../e2e/receiver.ts'
import { createFleet, fleetKey, withTime } from './fleet.ts'

const handlersFile = `
import { defineJob } from '${import.meta.resolve('@carillon/sdk')}'

export const poison = defineJob({ key: 'poison', run: () => process.kill(process.pid, 'SIGKILL') })
export const good = defineJob({
  key: 'good',
  run: () => new Promise((resolve) => setTimeout(resolve, 300)),
})
`

interface Shown {
  status: string
  dead_letter: boolean
  attempts: { outcome: string; error: { type: string } | null }[]
}

async function setup(t: TestContext) {
  const dir = await mkdtemp(join(tmpdir(), 'carillon-poison-'))
  cleanUp(t, () => rm(dir, { recursive: true }))
  const handlers = join(dir, 'handlers.ts')
  await writeFile(handlers, handlersFile)
  const fleet = await createFleet(t)
  const server = await fleet.start('api,scheduler,worker', { handlers })
  const { api } = server
  const client = createClient({ url: server.url!, key: fleetKey })
  const run = async (key: string) =>
    (await client.jobs.start(defineJob({ key, run() {} }), undefined)).execution_id
  const ended = (id: string) =>
    until(async () => {
      const shown = await api.get<Shown>(`/executions/${id}`)
      return ['SUCCEEDED', 'FAILED'].includes(shown.status) ? shown : null
    }, `${id} is over`)
  return { fleet, server, api, run, ended }
}

test(
  'a handler that kills its process is a dead letter in the end, and its neighbours succeed',
  withTime,
  async (t) => {
    const { fleet, server, api, run, ended } = await setup(t)
    const receiver = await startReceiver(t)
    const execution = { callback_url: receiver.url }
    await api.post('/jobs', { name: 'beside', schedule: '* * * * * *', execution }, 201)
    const first = await Promise.all(Array.from({ length: 3 }, () => run('good')))
    const killer = await run('poison')
    const second = await Promise.all(Array.from({ length: 3 }, () => run('good')))
    for (let losses = 1; losses <= 5; losses++) {
      const row = await until(async () => {
        const { rows } = await fleet.client.query<{ host: string | null; losses: number }>(
          `SELECT count(a.*)::int AS losses, l.host FROM attempts a LEFT JOIN live l USING (execution_id)
         WHERE a.execution_id = $1 AND a.outcome = 'lost' GROUP BY l.host`,
          [killer],
        )
        return rows[0] !== undefined && rows[0].losses >= losses ? rows[0] : null
      }, `it was lost ${losses} times`)
      // Where a worker takes one at a time.
      if (row.losses > 1 && row.losses < 5) assert.equal(row.host, 'suspect')
    }
    const { status, dead_letter: isDead, attempts } = await ended(killer)
    assert.deepEqual([status, isDead], ['FAILED', true])
    assert.deepEqual(
      attempts.map(({ outcome, error }) => [outcome, error?.type]),
      Array(5).fill(['lost', 'WORKER_LOST']),
    )
    const letter = await api.get<{ dlq_reason: string }>(`/dead-letters/${killer}`)
    assert.equal(letter.dlq_reason, 'WORKER_LOST')
    for (const good of [...first, ...second]) {
      const { status: ofGood, attempts: tries } = await ended(good)
      assert.equal(ofGood, 'SUCCEEDED')
      assert(tries.filter(({ outcome }) => outcome === 'lost').length <= 2, JSON.stringify(tries))
    }
    // The server itself, and the executions in it, are not affected.
    assert.equal(server.program.child.exitCode, null)
    const { rows } = await fleet.client.query(
      `SELECT count(*)::int AS n FROM attempts a JOIN jobs j USING (job_id)
     WHERE j.name = 'beside' AND a.outcome <> 'succeeded'`,
    )
    assert.equal(rows[0].n, 0)
  },
)
