// npm run bench -- adhoc [--quick]: from sending POST /jobs/{id}/trigger to the beginning of the callback at the receiver,
// with nothing else to do and beside a steady load. Every trigger is of another job that has not run before, so that none
// waits for another and the worker knows nothing of it yet.
import type pg from 'pg'
import { Pool } from 'undici'
import { type Carillon, makeDataDir, startCarillon } from './carillon.ts'
import { registerDue, withDatabase } from './due-jobs.ts'
import { wait } from './load.ts'
import type { BenchOptions } from './main.ts'
import { figure, say, table } from './output.ts'
import { type Lateness, latenessOf, monotonicMs, startTimedTarget, type TimedTarget } from './timed-target.ts'

/** Half of the rate that `http` is to sustain on two cores. */
const steadyPerS = 5_000
/** About ten a second, and not in step with the full seconds at which the steady load comes. */
const triggerEveryMs = 97
const warmUps = 50
const leadMs = 3_000
const warmUpMs = 4_000
const arriveMsMax = 30_000
/** Of the steady load that was due: below this it was not there, and the figure beside it means nothing. */
const steadyShareMin = 0.9
const goals = { p50: 5, p99: 50 }

/** A job that is triggered, and its tenant; absent: the one that is there from the start. */
export interface Triggered {
  jobId: string
  tenantId?: string | undefined
}

interface Sent {
  executionId: string
  sentMs: number
  answeredMs: number
}

interface Window {
  name: string
  metric: string
  start: Lateness
  answer: Lateness
  /** Calls a second of the steady load. */
  steadyPerS: number
}

export async function run({ quick }: BenchOptions): Promise<void> {
  const count = quick ? 150 : 600
  await using dataDir = await makeDataDir()
  await using carillon = await startCarillon(dataDir.path)
  await using target = await startTimedTarget()
  await using steady = await startTimedTarget()
  const pool = new Pool(carillon.url, { connections: 64, pipelining: 1 })
  const windows = await withDatabase(dataDir.path, async (client) => {
    const jobs = await createTriggered(client, target, warmUps + 2 * count)
    await sendAll(pool, carillon, jobs.splice(0, warmUps), 20)
    await wait(1_000)
    await target.take()
    const light = await measureWindow(pool, carillon, { target, steady }, jobs.splice(0, count))
    await startSteady(client, steady)
    const loaded = await measureWindow(pool, carillon, { target, steady }, jobs)
    if (loaded.steadyPerS < steadyShareMin * steadyPerS)
      throw new Error(`of ${steadyPerS} a second only ${loaded.steadyPerS.toFixed(0)} came`)
    return [
      { name: 'light: 10 triggers a second', metric: 'light', ...light },
      { name: `beside ${steadyPerS.toLocaleString('en')} a second`, metric: 'half_load', ...loaded },
    ]
  })
  await pool.close()
  windows.forEach(report)
  table(windows.map(rowOf))
  say('ms: from sending the trigger to the call at the receiver. Answered: to the answer of the API.')
}

/** Jobs that would run once a day, not within these hours. */
export async function createTriggered(
  client: pg.Client,
  { url }: TimedTarget,
  count: number,
  tenantId?: string,
): Promise<Triggered[]> {
  const firstMs = Math.ceil((Date.now() + 7_200_000) / 1_000) * 1_000
  const tag = `triggered-${tenantId ?? 'first'}`
  const jobs = { tag, count, cron: dailyAt(firstMs), firstMs, url }
  await registerDue(client, { ...jobs, ...(tenantId !== undefined && { tenantId }) })
  const { rows } = await client.query<{ job_id: string }>('SELECT job_id FROM jobs WHERE tags @> ARRAY[$1]', [
    tag,
  ])
  return rows.map((row) => ({ jobId: row.job_id, tenantId }))
}

async function startSteady(client: pg.Client, { url }: TimedTarget): Promise<void> {
  const firstMs = Math.ceil((Date.now() + leadMs) / 1_000) * 1_000
  const steady = { tag: 'steady', count: steadyPerS, cron: '* * * * * *', firstMs }
  await registerDue(client, { ...steady, url: `${url}/counted` })
  await wait(firstMs + warmUpMs - Date.now())
}

async function measureWindow(
  pool: Pool,
  carillon: Carillon,
  { target, steady }: { target: TimedTarget; steady: TimedTarget },
  jobs: readonly Triggered[],
): Promise<Pick<Window, 'start' | 'answer' | 'steadyPerS'>> {
  await steady.take()
  const startedMs = performance.now()
  const sent = await sendAll(pool, carillon, jobs, triggerEveryMs)
  const seconds = (performance.now() - startedMs) / 1_000
  const { counted } = await steady.take()
  const arrivals = await takeAll(target, sent)
  return {
    start: latenessOf(sent.map(({ executionId, sentMs }) => arrivals.get(executionId)! - sentMs)),
    answer: latenessOf(sent.map(({ sentMs, answeredMs }) => answeredMs - sentMs)),
    steadyPerS: counted / seconds,
  }
}

/** Sends each trigger at its own time, regardless of the outcome of the one before. */
export async function sendAll(
  pool: Pool,
  carillon: Carillon,
  jobs: readonly Triggered[],
  everyMs: number,
): Promise<Sent[]> {
  const startMs = performance.now()
  const sent: Promise<Sent>[] = []
  for (const [index, job] of jobs.entries()) {
    await wait(Math.max(0, startMs + index * everyMs - performance.now()))
    sent.push(trigger(pool, carillon, job))
  }
  return Promise.all(sent)
}

async function trigger(pool: Pool, { key }: Carillon, { jobId, tenantId }: Triggered): Promise<Sent> {
  const sentMs = monotonicMs()
  const { statusCode, body } = await pool.request({
    method: 'POST',
    path: `/api/v1/jobs/${jobId}/trigger`,
    headers: { authorization: `Bearer ${key}`, ...(tenantId !== undefined && { 'x-tenant-id': tenantId }) },
  })
  const answeredMs = monotonicMs()
  if (statusCode !== 202) throw new Error(`trigger: ${statusCode} ${await body.text()}`)
  const { execution_id: executionId } = (await body.json()) as { execution_id: string }
  return { executionId, sentMs, answeredMs }
}

/** When each of them was called first, by execution. */
export async function takeAll(target: TimedTarget, sent: readonly Sent[]): Promise<Map<string, number>> {
  const arrivals = new Map<string, number>()
  const untilMs = performance.now() + arriveMsMax
  while (true) {
    const calls = await target.take()
    for (const [index, id] of calls.executionIds.entries())
      if (!arrivals.has(id)) arrivals.set(id, calls.monotonicMs[index]!)
    const missing = sent.filter(({ executionId }) => !arrivals.has(executionId)).length
    if (missing === 0) return arrivals
    if (performance.now() > untilMs) throw new Error(`${missing} of ${sent.length} triggers brought no call`)
    await wait(100)
  }
}

function dailyAt(ms: number): string {
  const at = new Date(ms)
  return `${at.getUTCSeconds()} ${at.getUTCMinutes()} ${at.getUTCHours()} * * *`
}

function rowOf({ name, start, answer, steadyPerS: perS }: Window): Record<string, unknown> {
  const ms = (value: number) => value.toFixed(1)
  return {
    load: name,
    'start ms p50': ms(start.p50),
    'goal p50': goals.p50,
    p99: ms(start.p99),
    'goal p99': goals.p99,
    max: ms(start.max),
    'answered ms p50': ms(answer.p50),
    'p99 ': ms(answer.p99),
    'calls beside it a second': perS.toFixed(0),
  }
}

function report({ metric, start, answer }: Window): void {
  for (const name of ['p50', 'p99', 'max'] as const)
    figure({ bench: 'adhoc', metric: `start_${name}_${metric}`, value: start[name], unit: 'ms' })
  for (const name of ['p50', 'p99'] as const)
    figure({ bench: 'adhoc', metric: `answer_${name}_${metric}`, value: answer[name], unit: 'ms' })
}
