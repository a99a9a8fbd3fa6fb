// The thread of one fuzz: a whole server with all its roles, as `npm start` has it, and the requests to it.
import { parentPort, workerData } from 'node:worker_threads'
import { readConfig } from '../../src/config/read.ts'
import { defaultTenantId } from '../../src/domain/tenant.ts'
import type { DatabaseAddress } from '../../src/store/database.ts'
import { requestFailed } from '../../src/telemetry/events.ts'
import { startServer } from '../../src/wire.ts'
import { connectTo, tokensOf } from '../attempt-tokens.ts'
import { type FuzzOptions, runFuzz } from './run.ts'

export interface FuzzOrder extends Omit<FuzzOptions, 'origin' | 'key' | 'tokenOf'> {
  address: DatabaseAddress
}

const { address, ...options } = workerData as FuzzOrder
const operatorKey = 'crl_fuzz-operator-key'
const config = readConfig({ CARILLON_PORT: '0', CARILLON_DRAIN_SECONDS: '1' })
const api = { operatorKey }
/** The latest failures by request: an answer with 500 does not say what went wrong. */
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
  const report = await runFuzz({ ...options, causeOf, tokenOf, origin: server.url!, key: operatorKey })
  await server.stop()
  parentPort!.postMessage(report)
} finally {
  await server.stop()
}
