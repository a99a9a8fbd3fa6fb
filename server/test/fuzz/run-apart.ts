// The thread of a single fuzz: a whole server with all its roles, as `npm start` runs it, and the requests to it.
import { parentPort, workerData } from 'node:worker_threads'
import { readConfig } from '../../src/config/read.ts'
import { defaultTenantId } from '../../src/domain/tenants/tenant.ts'
import type { DatabaseAddress } from '../../src/postgres/connection/database.ts'
import { requestFailed } from '../../src/telemetry/events.ts'
import { startServer } from '../../src/wiring/server.ts'
import { connectTo, tokensOf } from '../attempt-tokens.ts'
import { type FuzzOptions, runFuzz } from './run.ts'

export interface FuzzOrder extends Omit<FuzzOptions, 'origin' | 'key' | 'tokenOf' | 'underWay'> {
  address: DatabaseAddress
}

const { address, ...options } = workerData as FuzzOrder
const operatorKey = 'crl_fuzz-operator-key'
const underWayCount = 60
const config = readConfig({
  ...{ CARILLON_PORT: '0', CARILLON_DRAIN_SECONDS: '1', CARILLON_ARTIFACTS: 'on' },
  CARILLON_ALLOW_PRIVATE_TARGETS: 'true',
})
const api = { operatorKey }
/** The latest failures by request: a response with status 500 does not give the cause. */
const causes = new Map<string, string>()
requestFailed.subscribe(({ method, url, error }) => {
  if (causes.size < 1_000) causes.set(`${method} ${url}`, error.stack ?? error.message)
})
const causeOf = (method: string, path: string) => causes.get(`${method} ${path}`)
const client = await connectTo(address)
const tokenOf = await tokensOf(client, defaultTenantId)
await client.end()
const server = await startServer({ config, roles: config.roles, address, api })
try {
  await startRuns(`${server.url!}/api/v1`)
  const underWay = await startAttempts(server.url!)
  const report = await runFuzz({
    ...options,
    causeOf,
    tokenOf,
    underWay,
    origin: server.url!,
    key: operatorKey,
  })
  await server.stop()
  parentPort!.postMessage(report)
} finally {
  await server.stop()
}

/**
 * Two runs of graphs, one that waits for ever and one that fails: from some seeds none would come about, and nothing that is asked of
 * a run would ever be taken.
 */
async function startRuns(url: string): Promise<void> {
  const nobody = { type: 'worker', handler: 'nobody.has-it' }
  const refusing = { callback_url: 'http://127.0.0.1:9/' }
  for (const execution of [nobody, refusing]) {
    const job = { execution, retry_policy: { max_retries: 0 } }
    const root = await post(`${url}/jobs`, { ...job, name: 'root', schedule: '0 0 1 1 *' })
    await post(`${url}/jobs`, {
      ...job,
      name: 'after it',
      depends_on: [{ job_id: root.job_id, on: 'success' }],
    })
    await post(`${url}/jobs/${root.job_id}/trigger`, {})
  }
}

/** Executions with calls that take 30 s: for a report on an attempt to be taken, the attempt must be under way. */
async function startAttempts(origin: string): Promise<string[]> {
  const execution = { callback_url: `${origin}/echo?delay_ms=30000` }
  const job = { name: 'under way', schedule: '0 0 1 1 *', overlap_policy: 'ALLOW', execution }
  const { job_id: jobId } = await post(`${origin}/api/v1/jobs`, job)
  const triggered = Array.from({ length: underWayCount }, () =>
    post(`${origin}/api/v1/jobs/${jobId}/trigger`, {}),
  )
  return (await Promise.all(triggered)).map((one) => one.execution_id)
}

async function post(url: string, body: object): Promise<{ job_id: string; execution_id: string }> {
  const headers = { authorization: `Bearer ${operatorKey}`, 'content-type': 'application/json' }
  const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
  if (!answer.ok) throw new Error(`${url}: ${answer.status} ${await answer.text()}`)
  return (await answer.json()) as { job_id: string; execution_id: string }
}
