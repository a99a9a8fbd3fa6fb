// A whole server in this process on a given database, with users that do not give up: they repeat requests answered
// with 503, under the same key.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type pg from 'pg'
import { type Config, readConfig } from '../../src/config/read.ts'
import type { Role } from '../../src/domain/role.ts'
import { realTimers } from '../../src/lib/time/timers.ts'
import { type RunningServer, startServer } from '../../src/wiring/server.ts'
import { startProxy } from '../chaos/proxy.ts'
import { cleanUp } from '../cleanup.ts'
import { connect, createDatabase } from '../database.ts'
import { callApi, until } from '../e2e/api.ts'
import type { Receiver } from '../e2e/receiver.ts'
import { fatesOf, watchFlags } from '../races/invariants.ts'

export const apiKey = 'crl_faults-operator-key-0123456789'

/** One after the other: several that start at once in one process would not hear their database for seconds. */
let lastStarted: Promise<unknown> = Promise.resolve()

export async function startCarillon(
  t: TestContext,
  { url, roles, ...changes }: { url: string; roles?: readonly Role[] } & Partial<Config>,
) {
  const read = readConfig({ CARILLON_PORT: '0', CARILLON_DRAIN_SECONDS: '1', CARILLON_LOG_LEVEL: 'silent' })
  const config = { ...read, ...changes }
  const api = { operatorKey: apiKey }
  const started = lastStarted.then(() =>
    startServer({ config, roles: roles ?? config.roles, address: { url }, api }),
  )
  lastStarted = started.catch(() => {})
  const server = await started
  cleanUp(t, () => server.stop())
  return { server, api: callApi(urlOf(server), apiKey) }
}

function urlOf({ url }: RunningServer): string {
  return url ?? 'http://127.0.0.1:1'
}

export interface Answer {
  status: number
  retryAfter: string | null
  // biome-ignore lint/suspicious/noExplicitAny: answers of all kinds
  body: any
}

export function get(url: string, path: string): Promise<Answer> {
  return call(url, path, { headers: { authorization: `Bearer ${apiKey}` } })
}

export function post(url: string, path: string, body: object, key?: string): Promise<Answer> {
  const headers: Record<string, string> = {
    authorization: `Bearer ${apiKey}`,
    'content-type': 'application/json',
    ...(key !== undefined && { 'idempotency-key': key }),
  }
  return call(url, path, { method: 'POST', headers, body: JSON.stringify(body) })
}

async function call(url: string, path: string, request: RequestInit): Promise<Answer> {
  const response = await fetch(`${url}/api/v1${path}`, request)
  const { status, headers } = response
  return { status, retryAfter: headers.get('retry-after'), body: await response.json() }
}

/** A user that creates one job after the other, each until it is acknowledged, until it is stopped. */
export class Customer {
  /** By their idempotency keys. */
  readonly acknowledged = new Map<string, { jobId: string; executionId: string }>()
  readonly refused: Answer[] = []
  readonly #url: string
  readonly #execution: object
  readonly #name: string
  readonly #stop = new AbortController()
  readonly #done: Promise<void>

  constructor(t: TestContext, url: string, execution: object, name = 'customer') {
    this.#url = url
    this.#execution = execution
    this.#name = name
    this.#done = this.#work()
    this.#done.catch(() => {})
    cleanUp(t, () => this.stop())
  }

  async stop(): Promise<void> {
    this.#stop.abort()
    await this.#done
  }

  async #work(): Promise<void> {
    const { signal } = this.#stop
    for (let n = 0; !signal.aborted; n++) {
      const key = `${this.#name}-${n}`
      const job = { name: key, schedule: { type: 'IMMEDIATE' }, execution: this.#execution }
      while (!signal.aborted) {
        const answer = await post(this.#url, '/jobs', job, key).catch(() => null)
        if (answer?.status === 201) {
          const { job_id: jobId, execution_id: executionId } = answer.body
          this.acknowledged.set(key, { jobId, executionId })
          break
        }
        if (answer !== null) this.refused.push(answer)
        await realTimers.wait(50, signal)
      }
      await realTimers.wait(5, signal)
    }
  }
}

/** Refusals say that one may come back, and nothing else. */
export function assertOnlyUnavailable(refused: readonly Answer[]): void {
  const others = refused.filter(({ status, retryAfter }) => status !== 503 || retryAfter === null)
  assert.deepEqual(others, [])
}

/** Everything that was acknowledged has run and is recorded once; nobody made a job that was not asked for. */
export async function assertAllRan(client: pg.Client, customers: readonly Customer[]): Promise<void> {
  const known = customers.flatMap(({ acknowledged }) => [...acknowledged.values()])
  const ids = known.map(({ executionId }) => executionId)
  assert(ids.length > 0)
  await until(async () => {
    const { rows } = await client.query<{ n: number }>(
      `SELECT count(*)::int AS n FROM attempts WHERE final AND outcome = 'succeeded' AND execution_id = ANY ($1)`,
      [ids],
    )
    return rows[0]!.n === ids.length ? true : null
  }, `all ${ids.length} acknowledged executions have succeeded`)
  const { rows: made } = await client.query<{ name: string; n: number }>(
    `SELECT v.name, count(*)::int AS n FROM jobs j JOIN job_versions v USING (job_id, version)
    WHERE v.name LIKE 'customer%' GROUP BY v.name HAVING count(*) > 1`,
  )
  assert.deepEqual(made, [], 'one job for each key')
}

/**
 * Each second from its first slot to its last one ran once, and the target was called once for each attempt. The last
 * slot is due after the call: faults that end within a second would otherwise leave no slot to look at.
 */
export async function assertEachSlotOnce(
  client: pg.Client,
  { jobId, receiver }: { jobId: string; receiver: Receiver },
): Promise<void> {
  const { rows: now } = await client.query<{ ms: number }>('SELECT to_ms(clock_timestamp())::float8 AS ms')
  const slots = await until(async () => {
    const { rows } = await client.query<{ from: number | null; to: number | null }>(
      `SELECT to_ms(min(slot))::float8 AS from, to_ms(max(slot))::float8 AS to FROM slots WHERE job_id = $1`,
      [jobId],
    )
    const { from, to } = rows[0]!
    return from !== null && to !== null && to > now[0]!.ms ? { from, to } : null
  }, 'the job fires again')
  const fates = await fatesOf(client, { jobId }, slots)
  assert.deepEqual([...new Set(fates)], ['ran'])
  const { rows: doubled } = await client.query(
    `SELECT slot, count(*) FROM attempts WHERE job_id = $1 AND outcome = 'succeeded' GROUP BY slot HAVING count(*) > 1`,
    [jobId],
  )
  assert.deepEqual(doubled, [])
  assert.deepEqual(callsTwice(receiver), [])
}

/** Attempts that the target was called for more than once. */
export function callsTwice({ calls }: Receiver): string[] {
  const attempts = Map.groupBy(
    calls,
    ({ headers }) => `${headers['x-execution-id']} ${headers['x-attempt-number']}`,
  )
  return [...attempts].flatMap(([attempt, same]) => (same.length > 1 ? [attempt] : []))
}

/** Work goes on: every customer has more acknowledged than before, and the target is called. */
export async function untilWorking(receiver: Receiver, customers: readonly Customer[]): Promise<void> {
  const before = { calls: receiver.calls.length, mine: customers.map((one) => one.acknowledged.size) }
  await until(() => {
    const more = customers.every((one, n) => one.acknowledged.size > before.mine[n]! + 5)
    return more && receiver.calls.length > before.calls + 10 ? true : null
  }, 'work goes on')
}

export async function untilRefused(customers: readonly Customer[]): Promise<void> {
  const before = customers.map((one) => one.refused.length)
  const more = () => customers.every((one, n) => one.refused.length > before[n]!)
  await until(() => (more() ? true : null), 'the API says that the database is away')
}

/** A database of its own on the PostgreSQL of all tests, with a network in front that can be cut. */
export async function useProxy(t: TestContext) {
  const address = await createDatabase(t)
  const client = await connect(t, address)
  await watchFlags(client)
  const openProxy = async () => {
    const proxy = await startProxy({ target: { path: join(address.socketDir, '.s.PGSQL.5432') } })
    cleanUp(t, () => proxy.close())
    return { proxy, url: proxy.databaseUrl(address.database) }
  }
  return { address, client, openProxy, ...(await openProxy()) }
}
