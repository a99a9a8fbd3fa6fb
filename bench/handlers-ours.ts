// Our side of `bench handlers`: a server with `--handlers`, its jobs, and rounds of them.
import { fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type pg from 'pg'
import { Pool } from 'undici'
import { type Client, createClient } from '../sdk/src/client.ts'
import { wait } from './load.ts'
import { enqueueInParts } from './peers/peer.ts'
import { measureTree } from './process-tree.ts'
import { connectTo } from './register.ts'

export interface Round {
  perS: number
  cpuUs: number
}

/** `noop`: run by `--handlers`. `noop-sdk`: by a worker of the SDK. */
export type Handler = 'noop' | 'noop-sdk'

export interface Ours extends AsyncDisposable {
  /** All jobs of the handler are due at once: from that instant until the last of them is on record. */
  roundOfSlots(handler: Handler): Promise<Round>
  /**
   * Executions of a single job that allows overlaps, a thousand per request: from the first request until the last is
   * on record.
   */
  roundOfMany(handler: Handler): Promise<Round>
  /** Each is triggered by a request of its own: from the first request until the last is on record. */
  roundOfTriggers(handler: Handler): Promise<Round>
  /** CPU time of PostgreSQL, which peers share. */
  postgresCpuSeconds(): number
}

/** Not that of other benches: one may run beside it. */
const port = 17_430
const readyMsMax = 60_000
const triggersAtOnce = 64
/** Requests for many. */
const manyAtOnce = 2
/** In one round: each costs a request. */
const triggersMax = 5_000
/** From when jobs are told their slot to that slot: the scheduler looks for notes every second. */
const leadMs = 2_000
const tellMs = 0.2
const lookEveryMs = 10
/** Nothing of ours takes longer, and a round that never ends must say so. */
const roundMsMax = 120_000
const foldedMsMax = 60_000
const foldedEveryMs = 250

/** `jobs`: executions of a round; `slots`: jobs of a round of slots. */
export async function startOurs(
  dataDir: string,
  { jobs, slots }: { jobs: number; slots: number },
): Promise<Ours> {
  await using resources = new AsyncDisposableStack()
  const server = resources.use(await startWithHandlers(dataDir))
  const client = await connectTo(dataDir)
  resources.defer(() => client.end())
  await registerHandlerJobs(client, 'noop', slots)
  await registerHandlerJobs(client, 'noop-sdk', slots)
  const api = createClient({ url: server.url, key: server.key })
  const many = new Map<Handler, string>()
  for (const handler of ['noop', 'noop-sdk'] as const) many.set(handler, await createJobForMany(api, handler))
  await client.query('ANALYZE')
  const sdk = resources.use(await startSdkWorker(server))
  const cpuSeconds = (handler: Handler) =>
    measureTree(server.pid).cpuSeconds + (handler === 'noop-sdk' ? measureTree(sdk.pid).cpuSeconds : 0)
  const started = resources.move()
  return {
    async roundOfSlots(handler) {
      const slotMs = await tellSlot(client, handler, slots)
      const before = cpuSeconds(handler)
      // A timer may be a moment early, and nothing would be due yet.
      await wait(slotMs + lookEveryMs - Date.now())
      const seconds = (await untilOver(client, slotMs)) / 1_000
      await untilFolded(client)
      const cpuUs = ((cpuSeconds(handler) - before) * 1e6) / slots
      await checkHistory(client, slotMs, slots)
      return { perS: slots / seconds, cpuUs }
    },
    async roundOfMany(handler) {
      const before = cpuSeconds(handler)
      const own = process.cpuUsage()
      const startedMs = Date.now()
      await enqueueInParts(jobs, manyAtOnce, (some) => triggerMany(api, many.get(handler)!, some))
      const seconds = (await untilOver(client, startedMs, isUnderWay)) / 1_000
      const { user, system } = process.cpuUsage(own)
      await untilFolded(client)
      const cpuUs = ((cpuSeconds(handler) - before) * 1e6 + user + system) / jobs
      await checkHistory(client, startedMs, jobs)
      return { perS: jobs / seconds, cpuUs }
    },
    async roundOfTriggers(handler) {
      const ids = (await jobIdsOf(client, handler)).slice(0, triggersMax)
      const before = cpuSeconds(handler)
      const own = process.cpuUsage()
      const startedMs = Date.now()
      await trigger(server, ids)
      const { user, system } = process.cpuUsage(own)
      const seconds = (await untilOver(client, startedMs)) / 1_000
      const cpuUs = ((cpuSeconds(handler) - before) * 1e6 + user + system) / ids.length
      await checkHistory(client, startedMs, ids.length)
      return { perS: ids.length / seconds, cpuUs }
    },
    postgresCpuSeconds: () => measureTree(server.pid).postgres.cpuSeconds,
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  }
}

interface Server extends AsyncDisposable {
  pid: number
  url: string
  key: string
}

async function startWithHandlers(dataDir: string): Promise<Server> {
  const root = join(import.meta.dirname, '..')
  const handlers = join(import.meta.dirname, 'handlers-noop.ts')
  // As `npm start` does.
  const args = ['--max-semi-space-size=64', 'cli/bin/carillon.js', 'start', '--handlers', handlers]
  const child = spawn(process.execPath, args, {
    cwd: root,
    env: { ...process.env, CARILLON_DATA: dataDir, CARILLON_PORT: String(port) },
    // The channel tells it when we are gone.
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  const exit = once(child, 'exit')
  const stop = async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM')
    await exit
  }
  const url = `http://127.0.0.1:${port}`
  const untilMs = performance.now() + readyMsMax
  while (!(await isReady(url))) {
    if (child.exitCode !== null || performance.now() > untilMs) {
      await stop()
      throw new Error('carillon start --handlers did not get ready')
    }
    await wait(20)
  }
  const key = (await readFile(join(dataDir, 'api-key'), 'utf8')).trim()
  return { pid: child.pid!, url, key, [Symbol.asyncDispose]: stop }
}

async function isReady(url: string): Promise<boolean> {
  return fetch(`${url}/readyz`).then(
    ({ status }) => status === 200,
    () => false,
  )
}

async function startSdkWorker({ url, key }: Server): Promise<AsyncDisposable & { pid: number }> {
  const child = fork(join(import.meta.dirname, 'handlers-sdk.ts'), {
    env: { ...process.env, CARILLON_URL: url, CARILLON_KEY: key },
  })
  const exit = once(child, 'exit')
  await Promise.race([once(child, 'message'), exit])
  if (child.exitCode !== null) throw new Error('the worker of the SDK did not start')
  return {
    pid: child.pid!,
    async [Symbol.asyncDispose]() {
      if (child.connected) child.disconnect()
      await exit
    },
  }
}

/** Registers jobs for a handler with default policies, none of them due for months. */
async function registerHandlerJobs(client: pg.Client, handler: Handler, jobs: number): Promise<void> {
  await client.query(
    `WITH made AS MATERIALIZED (
      SELECT (lpad(to_hex(to_ms(now()) - n), 12, '0') || '7' || left(md5($2 || n), 19))::uuid AS id, tenant_id,
        $2 || ' ' || n AS name, date_trunc('month', now() AT TIME ZONE 'UTC' + interval '6 months') AS at
      FROM generate_series(1, $1::int) AS n CROSS JOIN tenants
    ), job AS (
      INSERT INTO jobs (job_id, tenant_id, version, created_at, updated_at, name, tags, search)
      SELECT id, tenant_id, 1, now(), now(), made.name, '{}', made.name || E'\\n\\n' FROM made
    ), version AS (
      INSERT INTO job_versions (job_id, version, tenant_id, name, tags, schedule, anchor_at, execution, retry_policy,
        priority, overlap_policy, misfire_policy, metadata, jitter_seconds, route, own_rows)
      SELECT id, 1, tenant_id, made.name, '{}',
        json_build_object('type', 'CRON', 'cron_expression', to_char(at, '"0 0 1 "MM" *"')), now(),
        json_build_object('type', 'worker', 'handler', $2, 'labels', '[]'::json, 'timeout_seconds', 300),
        '{"max_retries":3,"backoff":"EXPONENTIAL","initial_delay_ms":1000,"max_delay_ms":60000}', 5, 'SKIP', 'FIRE_ONCE',
        '{}', 0, 'worker ' || tenant_id || ' ' || $2 || ' ', false
      FROM made
    )
    INSERT INTO cursors (job_id, tenant_id, partition_id, version, status, slot_at, due_at)
    SELECT id, tenant_id, abs(hashtext(id::text)) % 64, 1, 'ACTIVE', at AT TIME ZONE 'UTC', at AT TIME ZONE 'UTC' FROM made`,
    [jobs, handler],
  )
}

/** Gives them a cron that comes round at one instant, and the cursor that goes with it; returns shortly before it. */
async function tellSlot(client: pg.Client, handler: Handler, jobs: number): Promise<number> {
  const slotMs = Math.ceil((Date.now() + leadMs + jobs * tellMs) / 1_000) * 1_000
  await client.query('BEGIN')
  const { rowCount } = await client.query(
    `WITH told AS (
      UPDATE job_versions SET schedule = json_build_object('type', 'CRON', 'cron_expression',
        to_char(from_ms($1) AT TIME ZONE 'UTC', 'SS MI HH24 DD MM *'))
      WHERE execution ->> 'handler' = $2 AND overlap_policy = 'SKIP' RETURNING job_id
    ), moved AS (
      UPDATE cursors c SET slot_at = from_ms($1), due_at = from_ms($1) FROM told WHERE c.job_id = told.job_id
      RETURNING c.partition_id, c.job_id
    )
    INSERT INTO changes SELECT partition_id, job_id FROM moved`,
    [slotMs, handler],
  )
  if (rowCount !== jobs) throw new Error(`${rowCount} jobs were told their slot instead of ${jobs}`)
  // Notes come by ones and twos otherwise: planned for as many, the scheduler's look at thousands of them takes seconds.
  await client.query('ANALYZE changes')
  await client.query('COMMIT')
  await wait(slotMs - 100 - Date.now())
  const { rows } = await client.query('SELECT count(*)::int AS notes FROM changes')
  if (rows[0].notes > 0) throw new Error('the scheduler did not hear of the slot in time')
  return slotMs
}

async function createJobForMany(api: Client, handler: Handler): Promise<string> {
  const { job_id: jobId } = await api.jobs.create({
    name: `many ${handler}`,
    schedule: '0 0 1 1 *',
    execution: { type: 'worker', handler },
    overlap_policy: 'ALLOW',
  })
  return jobId
}

/** Each with a payload of its own, as peers are given. */
async function triggerMany(api: Client, jobId: string, executions: number): Promise<void> {
  await api.jobs.triggerMany(jobId, { payload_overrides: Array.from({ length: executions }, () => ({})) })
}

async function jobIdsOf(client: pg.Client, handler: Handler): Promise<string[]> {
  const { rows } = await client.query(
    `SELECT job_id FROM job_versions WHERE execution ->> 'handler' = $1 AND overlap_policy = 'SKIP' ORDER BY job_id`,
    [handler],
  )
  return rows.map(({ job_id: id }) => id)
}

async function trigger({ url, key }: Server, jobIds: readonly string[]): Promise<void> {
  const pool = new Pool(url, { connections: triggersAtOnce, pipelining: 1 })
  const left = jobIds.values()
  const headers = { authorization: `Bearer ${key}` }
  const follow = async () => {
    for (const jobId of left) {
      const answer = await pool.request({ method: 'POST', path: `/api/v1/jobs/${jobId}/trigger`, headers })
      if (answer.statusCode !== 202)
        throw new Error(`trigger: ${answer.statusCode} ${await answer.body.text()}`)
      await answer.body.dump()
    }
  }
  await Promise.all(Array.from({ length: triggersAtOnce }, follow))
  await pool.close()
}

/** From `sinceMs` until nothing is due, waits or runs any more, ms. */
async function untilOver(client: pg.Client, sinceMs: number, isGoingOn = isOpen): Promise<number> {
  while (await isGoingOn(client)) {
    if (Date.now() - sinceMs > roundMsMax) throw new Error(`not over after ${roundMsMax / 1_000} s`)
    await wait(lookEveryMs)
  }
  return Date.now() - sinceMs
}

/**
 * Waits until the tenant rollups that dashboards read include the round: they are folded seconds later, are part of the
 * cost of an execution, and would otherwise fall into the time of the next contestant. (Rollups of single jobs are
 * folded minutes later, a part at a time.)
 */
async function untilFolded(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ now: Date }>('SELECT clock_timestamp() AS now')
  const untilMs = Date.now() + foldedMsMax
  while (Date.now() < untilMs) {
    const folded = await client.query<{ folded: boolean }>(
      `SELECT folded_to >= $1 AS folded FROM rollup_feeds WHERE feed = 'tenant'`,
      [rows[0]!.now],
    )
    if (folded.rows[0]!.folded) return
    await wait(foldedEveryMs)
  }
  throw new Error(`not folded after ${foldedMsMax / 1_000} s`)
}

/** Each of them is there once, and has succeeded. */
async function checkHistory(client: pg.Client, sinceMs: number, jobs: number): Promise<void> {
  const { rows } = await client.query(
    `SELECT count(*)::int AS ends, count(DISTINCT execution_id)::int AS executions FROM attempts
    WHERE recorded_at >= from_ms($1) AND final AND outcome = 'succeeded'`,
    [sinceMs],
  )
  const { ends, executions } = rows[0]
  if (ends !== jobs || executions !== jobs)
    throw new Error(`${executions} executions are on record, with ${ends} ends, instead of ${jobs}`)
}

/** Where nothing is due by itself. */
async function isUnderWay(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query({
    name: 'is under way',
    // By the index, newest first: the table is full of deleted rows.
    text: `SELECT coalesce((SELECT true FROM batches ORDER BY batch_id DESC LIMIT 1),
      (SELECT true FROM live ORDER BY execution_id DESC LIMIT 1), false) AS is_under_way`,
  })
  return rows[0].is_under_way
}

/** Checks waiting and running executions first: they exist most of the time and are the quickest to find. */
async function isOpen(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query({
    name: 'is open',
    text: `SELECT EXISTS (SELECT FROM batches) OR EXISTS (SELECT FROM live) OR EXISTS (
      SELECT FROM generate_series(0, 63) AS p CROSS JOIN LATERAL (
        SELECT FROM cursors c WHERE c.partition_id = p AND c.status = 'ACTIVE' AND c.due_at <= now() LIMIT 1) c
    ) AS open`,
  })
  return rows[0].open
}
