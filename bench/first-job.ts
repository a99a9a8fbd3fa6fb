// npm run bench -- first-job: the first minutes of a newcomer, timed: a job every second, a trigger, a target that is
// away, dead letter, redrive, and the commands that `npm start` prints.
import { execFile } from 'node:child_process'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { promisify } from 'node:util'
import { type Carillon, makeDataDir, startCarillon } from './carillon.ts'
import { wait } from './load.ts'
import { startTarget } from './target.ts'

interface Execution {
  execution_id: string
  status: string
  scheduled_time: string
  attempts: { started_at: string; error: { type: string } | null }[]
}

export async function run(): Promise<void> {
  await using dataDir = await makeDataDir()
  await using carillon = await startCarillon(dataDir.path)
  await everySecond(carillon)
  await deadEnd(carillon)
  await printed(carillon)
}

async function everySecond(carillon: Carillon): Promise<void> {
  await using target = await startTarget()
  const execution = { callback_url: `${target.url}/`, payload: { hello: 'world' } }
  const job = await call(carillon, '/jobs', { name: 'tick', schedule: '* * * * * *', execution })
  await wait(10_000)
  const arrivals = await target.take()
  const late = arrivals.map(({ atMs, slotMs }) => atMs - slotMs)
  const { executions } = await call(carillon, `/jobs/${job.job_id}/executions`)
  const whole = executions.every(({ scheduled_time: at }: Execution) => /:\d\dZ$/.test(at))
  say('in history after 10 s', `${executions.length} (9 or more)`, executions.length >= 9 && whole)
  say('latest at the receiver', `${Math.max(...late).toFixed(1)} ms (100 or less)`, Math.max(...late) <= 100)
  say(
    'early',
    `${late.filter((ms) => ms < 0).length}`,
    late.every((ms) => ms >= 0),
  )
  const startedMs = performance.now()
  const triggered = await call(carillon, `/jobs/${job.job_id}/trigger`, {
    payload_override: { hello: 'you' },
  })
  const ms = await untilStatus(carillon, triggered.execution_id, 'SUCCEEDED', startedMs)
  say('trigger to SUCCEEDED', `${ms.toFixed(0)} ms (1,000 or less)`, ms <= 1_000)
}

async function deadEnd(carillon: Carillon): Promise<void> {
  const port = await freePort()
  const execution = { callback_url: `http://127.0.0.1:${port}/` }
  const retry_policy = { max_retries: 3, initial_delay_ms: 500 }
  const job = await call(carillon, '/jobs', {
    name: 'dead end',
    schedule: { type: 'IMMEDIATE' },
    execution,
    retry_policy,
  })
  await untilStatus(carillon, job.execution_id, 'FAILED', performance.now())
  const { attempts } = (await call(carillon, `/executions/${job.execution_id}`)) as Execution
  const starts = attempts.map(({ started_at: at }) => Date.parse(at))
  const gaps = starts.slice(1).map((at, i) => at - starts[i]!)
  const growing = gaps.every((gap, i) => i === 0 || gap > gaps[i - 1]!)
  say(
    'attempts on a dead port',
    `${attempts.length}, ${gaps.join(', ')} ms apart`,
    attempts.length === 4 && growing,
  )
  const server = createServer((_request, response) => void response.end('ok'))
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  const startedMs = performance.now()
  const { redriven } = await call(carillon, '/dead-letters/redrive', { execution_ids: [job.execution_id] })
  const ms = await untilStatus(carillon, redriven[0].new_execution_id, 'SUCCEEDED', startedMs)
  say('redrive to SUCCEEDED', `${ms.toFixed(0)} ms`, true)
  server.closeAllConnections()
  server.close()
}

/** The two lines under "Try it", as a shell runs them. */
async function printed({ stdout }: Carillon): Promise<void> {
  const lines = [...stdout().matchAll(/(curl -H .*)/g)].map((match) => match[1]!)
  const shell = async (line: string) => JSON.parse((await promisify(execFile)('sh', ['-c', line])).stdout)
  const job = await shell(lines[0]!)
  await wait(3_500)
  const { executions } = await shell(lines[1]!.replace('JOB_ID', job.job_id))
  const good = executions.filter(({ status }: Execution) => status === 'SUCCEEDED').length
  say('runs of the printed job in 3.5 s', `${good} (3 or more)`, good >= 3)
}

// biome-ignore lint/suspicious/noExplicitAny: answers of all kinds
async function call({ url, key }: Carillon, path: string, body?: object): Promise<any> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const request = body === undefined ? { headers } : { headers, method: 'POST', body: JSON.stringify(body) }
  const response = await fetch(`${url}/api/v1${path}`, request)
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
  return response.json()
}

async function untilStatus(carillon: Carillon, id: string, status: string, sinceMs: number): Promise<number> {
  while (performance.now() - sinceMs < 30_000) {
    const execution = (await call(carillon, `/executions/${id}`)) as Execution
    if (execution.status === status) return performance.now() - sinceMs
    await wait(5)
  }
  throw new Error(`${id} is not ${status} within 30 s`)
}

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

function say(what: string, value: string, good: boolean): void {
  console.log(`${good ? '✔' : '✖'} ${what.padEnd(36)}${value}`)
  if (!good) process.exitCode = 1
}
