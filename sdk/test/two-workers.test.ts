// Many executions through two workers against a real server, one of which is stopped in the middle.
import assert from 'node:assert/strict'
import test from 'node:test'
import { cleanUp } from '../../server/test/cleanup.ts'
import { makeDataDir } from '../../server/test/data-dir.ts'
import { until } from '../../server/test/e2e/api.ts'
import { Program } from '../../server/test/e2e/program.ts'
import { createClient } from '../src/client.ts'
import { defineJob } from '../src/define-job.ts'
import { createWorker } from '../src/worker.ts'

const count = 2_000

test('2,000 executions run once each on two workers, one of which is drained on the way', async (t) => {
  const program = new Program(t, { dataDir: await makeDataDir(t) })
  const url = await program.ready()
  const client = createClient({ url, key: program.key() })
  const ran = new Map<string, number>()
  const start = async () => {
    const job = defineJob({
      key: 'count',
      overlap: 'ALLOW',
      schedule: '@yearly',
      async run(payload, { executionId }) {
        ran.set(executionId, (ran.get(executionId) ?? 0) + 1)
        await new Promise((resolve) => setImmediate(resolve))
        return payload
      },
    })
    const worker = await createWorker({
      url,
      key: program.key(),
      jobs: [job],
      handleSignals: false,
      onEvent: (event) => {
        if (event.type === 'refused' || event.type === 'lost') assert.fail(JSON.stringify(event))
      },
    })
    cleanUp(t, () => worker.stop({ drainSeconds: 5 }))
    return worker
  }
  const [one, two] = [await start(), await start()]
  assert.notEqual(one.workerId, two.workerId)
  const jobId = one.jobIds.get('count')!
  const ids = new Set<string>()
  const numbers = Array(count).keys()
  const trigger = async () => {
    for (const number of numbers) {
      const { execution_id: id } = await client.jobs.trigger(jobId, { payload_override: { number } })
      ids.add(id)
    }
  }
  const triggered = Promise.all(Array.from({ length: 32 }, trigger))
  await until(() => (ran.size > count / 4 ? true : null), 'a quarter ran')
  await one.stop()
  assert.equal(one.running, 0)
  await triggered
  await until(() => (ran.size === count && two.running === 0 ? true : null), 'all ran')
  assert.deepEqual(new Set(ran.keys()), ids)
  assert.deepEqual(
    [...ran].filter(([, times]) => times !== 1),
    [],
  )
  const statuses = new Map<string, number>()
  for await (const execution of client.jobs.executions(jobId, { limit: 200 })) {
    const what = `${execution.status} ${'attempt_number' in execution ? execution.attempt_number : ''}`
    statuses.set(what, (statuses.get(what) ?? 0) + 1)
  }
  assert.deepEqual([...statuses], [['SUCCEEDED 1', count]])
})
