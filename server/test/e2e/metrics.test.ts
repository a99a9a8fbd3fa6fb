// The metrics that a start with several processes reports at one /metrics.
import assert from 'node:assert/strict'
import test from 'node:test'
import { makeDataDir } from '../data-dir.ts'
import { type Api, callApi, type ExecutionItem, until, untilStatus } from './api.ts'
import { describeProcess, kill, Program } from './program.ts'
import { startReceiver } from './receiver.ts'

interface Attempted extends ExecutionItem {
  attempts: { worker_id: string }[]
}

test('executions are counted once each whichever process ran them, also when one is killed', async (t) => {
  const env = { CARILLON_PROCESSES: '2', CARILLON_SHELL_COMMANDS: '/bin/true' }
  const program = new Program(t, { dataDir: await makeDataDir(t), env })
  const url = await program.ready()
  const api = callApi(url, program.key())
  const receiver = await startReceiver(t)
  await until(async () => {
    const { workers } = await api.get<{ workers: unknown[] }>('/workers')
    return workers.length === 3 ? true : null
  }, 'two workers for HTTP and one for commands')
  const seen: number[] = []
  const counted = async () => {
    const text = await (await fetch(`${url}/metrics`)).text()
    const lines = [...text.matchAll(/^carillon_executions_total\{.*\} (\d+)$/gm)]
    seen.push(lines.reduce((sum, [, value]) => sum + Number(value), 0))
    const delays = /^carillon_end_to_end_seconds_count (\d+)$/m.exec(text)
    assert.equal(Number(delays![1]), seen.at(-1), 'what is told together is shown together')
    return seen.at(-1)!
  }
  const untilCounted = (count: number) =>
    until(async () => ((await counted()) >= count ? true : null), `${count} executions are counted`)

  const ids: string[] = []
  const call = { callback_url: receiver.url }
  const command = { type: 'shell', command: '/bin/true' }
  const ran = new Set<string>()
  for (const execution of [command, command, command]) ids.push(await run(api, execution))
  // Until both have had some: which one claims is up to them.
  while (ran.size < 3) {
    const more = await Promise.all(Array.from({ length: 20 }, () => run(api, call)))
    ids.push(...more)
    for (const id of ids.slice(0, 1).concat(more)) ran.add(await workerOf(api, id))
  }
  for (const id of ids) await untilStatus(api, id, 'SUCCEEDED')
  await untilCounted(ids.length)

  const [pid] = program.tree().filter((one) => describeProcess(one).includes('child-process.ts commands'))
  kill(pid!, 'SIGKILL')
  ids.push(await run(api, command))
  await untilStatus(api, ids.at(-1)!, 'SUCCEEDED')
  await untilCounted(ids.length)
  assert.equal(seen.at(-1), ids.length)
  assert.deepEqual(
    seen,
    seen.toSorted((a, b) => a - b),
    'a counter never goes back',
  )
  const text = await (await fetch(`${url}/metrics`)).text()
  assert.match(text, /^carillon_success_ratio 1$/m)
  assert.match(text, /^carillon_worker_utilization 0$/m)
  assert.match(text, /^process_start_time_seconds \d/m, 'of the first process, and not a sum')
})

async function run(api: Api, execution: object): Promise<string> {
  const job = { name: 'once', schedule: { type: 'IMMEDIATE' }, execution }
  return (await api.post<{ execution_id: string }>('/jobs', job)).execution_id
}

async function workerOf(api: Api, id: string): Promise<string> {
  await untilStatus(api, id, 'SUCCEEDED')
  return (await api.get<Attempted>(`/executions/${id}`)).attempts[0]!.worker_id
}
