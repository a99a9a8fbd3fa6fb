// The thread of a single fuzz: a whole server with all its roles, as `npm start` runs it, and the requests to it.
import { parentPort, workerData } from 'node:worker_threads'
import { readConfig } from '../../src/config/read.ts'
import { defaultTenantId } from '../../src/domain/tenants/tenant.ts'
import type { DatabaseAddress } from '../../src/postgres/connection/database.ts'
import { requestFailed } from '../../src/telemetry/events.ts'
import { startServer } from '../../src/wiring/server.ts'
import { connectTo, tokensOf } from '../attempt-tokens.ts'
import { type FuzzOptions, runFuzz } from './run.ts'

export interface FuzzOrder extends Omit<FuzzOptions, 'origin' | 'key' | 'tokenOf'> {
  address: DatabaseAddress
}

const { address, ...options } = workerData as FuzzOrder
const operatorKey = 'crl_fuzz-operator-key'
const config = readConfig({ CARILLON_PORT: '0', CARILLON_DRAIN_SECONDS: '1' })
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
  const report = await runFuzz({ ...options, causeOf, tokenOf, origin: server.url!, key: operatorKey })
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
  const post = async (path: string, body: object): Promise<{ job_id: string }> => {
    const headers = { authorization: `Bearer ${operatorKey}`, 'content-type': 'application/json' }
    const answer = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) })
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`)
    return (await answer.json()) as { job_id: string }
  }
  const nobody = { type: 'worker', handler: 'nobody.has-it' }
  const refusing = { callback_url: 'http://127.0.0.1:9/' }
  for (const execution of [nobody, refusing]) {
    const job = { execution, retry_policy: { max_retries: 0 } }
    const root = await post('/jobs', { ...job, name: 'root', schedule: '0 0 1 1 *' })
    await post('/jobs', { ...job, name: 'after it', depends_on: [{ job_id: root.job_id, on: 'success' }] })
    await post(`/jobs/${root.job_id}/trigger`, {})
  }
}
