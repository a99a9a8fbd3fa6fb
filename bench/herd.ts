// npm run bench -- herd [--quick]: half a million jobs of a single tenant due at one instant, beside the steady jobs of
// a quiet tenant: how long until all are enqueued durably, until all have run and are on record, and how late the quiet
// tenant's jobs start meanwhile, compared with how late they started before.
import type pg from 'pg'
import { type Carillon, makeDataDir, startCarillon } from './carillon.ts'
import { requireDisk } from './disk.ts'
import { countSlots, defaultTenantId, registerDue, withDatabase } from './due-jobs.ts'
import { wait } from './load.ts'
import type { BenchOptions } from './main.ts'
import { figure, say, table } from './output.ts'
import {
  firstCalls,
  type Lateness,
  latenessOf,
  startTimedTarget,
  type TakenCalls,
  type TimedTarget,
} from './timed-target.ts'

interface Size {
  jobs: number
  goalEnqueuedS: number
  /** How long the quiet tenant is watched before. */
  baselineS: number
  gigabytes: number
}

const whole: Size = { jobs: 500_000, goalEnqueuedS: 15, baselineS: 30, gigabytes: 6 }
const small: Size = { jobs: 50_000, goalEnqueuedS: 2, baselineS: 20, gigabytes: 1 }
const quietJobs = 10
const quietGoalRatio = 2
/** Jobs of the herd that are looked at before all of them are. */
const pickedCount = 1_000
/** Jobs that any machine registers in a second. */
const registeredPerSMin = 5_000
/** The last seconds before the herd belong to neither time. */
const marginMs = 1_000
const lookEveryMs = 100
const sayEveryMs = 5_000
/** Without one more call the herd is stuck. */
const stuckMs = 60_000
const settleMsMax = 60_000

interface Herd {
  enqueuedS: number
  finishedS: number
  failed: number
}

interface Quiet {
  late: Lateness
  due: number
  skipped: number
}

export async function run({ quick }: BenchOptions): Promise<void> {
  const size = quick ? small : whole
  await requireDisk(size.gigabytes)
  await using dataDir = await makeDataDir()
  await using carillon = await startCarillon(dataDir.path)
  // Targets of their own, as tenants have: a worker has only so many calls at one host.
  await using target = await startTimedTarget()
  await using quietTarget = await startTimedTarget()
  await withDatabase(dataDir.path, async (client) => {
    const quietFromMs = await startQuiet(client, carillon, quietTarget)
    const dueMs = await registerHerd(client, target, size)
    const herd = await withDatabase(dataDir.path, async (looker) => {
      const unfired = await Unfired.watch(looker, { dueMs, jobs: size.jobs })
      await wait(dueMs - Date.now())
      return watchHerd(unfired, client, target, { dueMs, jobs: size.jobs })
    })
    const overMs = Math.ceil((dueMs + herd.finishedS * 1_000) / 1_000) * 1_000
    await wait(2_000)
    const baseline = { fromMs: Math.max(quietFromMs, dueMs - size.baselineS * 1_000), toMs: dueMs - marginMs }
    const calls = await takeQuiet(client, quietTarget, { fromMs: baseline.fromMs, toMs: overMs })
    const before = await judgeQuiet(client, calls, baseline)
    const during = await judgeQuiet(client, calls, { fromMs: dueMs, toMs: overMs })
    report(size, herd, before, during)
  })
}

/** Returns when its first slot is that counts. */
async function startQuiet(client: pg.Client, { url, key }: Carillon, target: TimedTarget): Promise<number> {
  const answer = await fetch(`${url}/api/v1/tenants`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'quiet' }),
  })
  if (answer.status !== 201) throw new Error(`tenant: ${answer.status} ${await answer.text()}`)
  const { tenant_id: tenantId } = (await answer.json()) as { tenant_id: string }
  const firstMs = Math.ceil((Date.now() + 2_000) / 1_000) * 1_000
  const jobs = { tag: 'quiet', count: quietJobs, tenantId, cron: '* * * * * *', firstMs, url: target.url }
  await registerDue(client, jobs)
  return firstMs + 2_000
}

/** Jobs that run once a day, all at the same second, which is returned. */
async function registerHerd(
  client: pg.Client,
  { url }: TimedTarget,
  { jobs, baselineS }: Size,
): Promise<number> {
  const startedMs = performance.now()
  const readyS = jobs / registeredPerSMin + baselineS
  const dueMs = Math.ceil(Date.now() / 1_000 + readyS) * 1_000
  const at = new Date(dueMs)
  const cron = `${at.getUTCSeconds()} ${at.getUTCMinutes()} ${at.getUTCHours()} * * *`
  await registerDue(client, { tag: 'herd', count: jobs, cron, firstMs: dueMs, url: `${url}/counted` })
  // Otherwise the database would vacuum in the middle of the measurement.
  await client.query('VACUUM ANALYZE jobs, job_versions, cursors')
  await client.query('CHECKPOINT')
  const tookS = (performance.now() - startedMs) / 1_000
  say(`${jobs.toLocaleString('en')} jobs registered in ${tookS.toFixed(0)} s, due ${at.toISOString()}`)
  if (tookS > readyS - baselineS) throw new Error('the jobs were registered too slowly')
  return dueMs
}

async function watchHerd(
  unfired: Unfired,
  client: pg.Client,
  target: TimedTarget,
  { dueMs, jobs }: { dueMs: number; jobs: number },
): Promise<Herd> {
  let enqueuedS: number | null = null
  let called = 0
  let [saidMs, calledMs] = [Date.now(), Date.now()]
  while (called < jobs || enqueuedS === null) {
    await wait(lookEveryMs)
    const { counted } = await target.take()
    called += counted
    const nowMs = Date.now()
    if (counted > 0) calledMs = nowMs
    if (enqueuedS === null) {
      const overMs = await unfired.overBy()
      if (overMs !== null) enqueuedS = (overMs - dueMs) / 1_000
    }
    if (nowMs - calledMs > stuckMs) throw new Error(`${called} of ${jobs} were called, and no more came`)
    if (nowMs - saidMs < sayEveryMs) continue
    saidMs = nowMs
    const enqueued = enqueuedS === null ? 'not all enqueued' : `all enqueued after ${enqueuedS.toFixed(1)} s`
    say(`${((nowMs - dueMs) / 1_000).toFixed(0)} s: ${called.toLocaleString('en')} called, ${enqueued}`)
  }
  return { enqueuedS, ...(await readRecord(client, { dueMs, jobs })) }
}

/**
 * Whether any job of the herd has not fired. The cursor of a job moves with the commit that enqueues it, so once all
 * cursors have moved, all jobs are enqueued durably. Checking all of them takes a second or more of the very cores
 * being measured, so it waits until every job of a sample of a thousand, picked beforehand, has fired.
 */
class Unfired {
  readonly #client: pg.Client
  readonly #dueMs: number
  readonly #picked: string[]

  static async watch(client: pg.Client, { dueMs, jobs }: { dueMs: number; jobs: number }): Promise<Unfired> {
    // Otherwise the table may be read as a whole, once for each partition.
    await client.query('SET enable_seqscan = off; SET enable_bitmapscan = off')
    const { rows } = await client.query<{ job_id: string }>(
      `SELECT job_id FROM cursors TABLESAMPLE BERNOULLI ($2) WHERE due_at = from_ms($1) AND tenant_id = $3`,
      [dueMs, (100 * pickedCount) / jobs, defaultTenantId],
    )
    return new Unfired(
      client,
      dueMs,
      rows.map((row) => row.job_id),
    )
  }

  private constructor(client: pg.Client, dueMs: number, picked: string[]) {
    this.#client = client
    this.#dueMs = dueMs
    this.#picked = picked
  }

  /** When the database was asked that knew of none; null: some are left. */
  async overBy(): Promise<number | null> {
    const { rows: picked } = await this.#client.query<{ left: boolean }>({
      name: 'picked-left',
      text: 'SELECT EXISTS (SELECT FROM cursors WHERE job_id = ANY ($1::uuid[]) AND due_at = from_ms($2)) AS left',
      values: [this.#picked, this.#dueMs],
    })
    if (picked[0]!.left) return null
    const { rows } = await this.#client.query<{ left: boolean; asked_ms: string }>({
      name: 'herd-left',
      text: `SELECT to_ms(statement_timestamp()) AS asked_ms, EXISTS (
          SELECT FROM generate_series(0, 63) AS p(id) CROSS JOIN LATERAL (
            SELECT FROM cursors c WHERE c.partition_id = p.id::smallint AND c.status = 'ACTIVE' AND c.due_at = from_ms($1)
              AND c.tenant_id = $2 LIMIT 1
          ) c
        ) AS left`,
      values: [this.#dueMs, defaultTenantId],
    })
    const { left, asked_ms: askedMs } = rows[0]!
    return left ? null : Number(askedMs)
  }
}

/** Once every execution of the herd is on record. */
async function readRecord(
  client: pg.Client,
  { dueMs, jobs }: { dueMs: number; jobs: number },
): Promise<Omit<Herd, 'enqueuedS'>> {
  const untilMs = performance.now() + settleMsMax
  while (true) {
    const { rows } = await client.query<{ ended: string; failed: string; last_ms: string }>(
      `SELECT count(*) AS ended, count(*) FILTER (WHERE outcome <> 'succeeded') AS failed, to_ms(max(recorded_at)) AS last_ms
      FROM attempts WHERE tenant_id = $2 AND slot = from_ms($1) AND final`,
      [dueMs, defaultTenantId],
    )
    const { ended, failed, last_ms: lastMs } = rows[0]!
    if (Number(ended) === jobs) return { finishedS: (Number(lastMs) - dueMs) / 1_000, failed: Number(failed) }
    if (performance.now() > untilMs) throw new Error(`${ended} of ${jobs} are on record`)
    await wait(500)
  }
}

interface Span {
  fromMs: number
  toMs: number
}

/** All its calls, once every slot in the time has had its call or was skipped. */
async function takeQuiet(client: pg.Client, target: TimedTarget, span: Span): Promise<TakenCalls> {
  const calls = await target.take()
  const due = dueIn(span)
  const untilMs = performance.now() + settleMsMax
  while (true) {
    const { skipped } = await countSlots(client, { tag: 'quiet', ...span })
    const arrived = firstCalls(calls, span).lateMs.size
    if (arrived + skipped === due) return calls
    if (performance.now() > untilMs)
      throw new Error(`the quiet tenant had ${due} due: ${arrived} came, ${skipped} were skipped`)
    await wait(500)
    const more = await target.take()
    for (const name of ['atMs', 'monotonicMs', 'slotMs'] as const) calls[name].push(...more[name])
    calls.executionIds.push(...more.executionIds)
  }
}

async function judgeQuiet(client: pg.Client, calls: TakenCalls, span: Span): Promise<Quiet> {
  const { skipped } = await countSlots(client, { tag: 'quiet', ...span })
  const lateMs = [...firstCalls(calls, span).lateMs.values()]
  const early = lateMs.filter((ms) => ms < 0).length
  if (early > 0) throw new Error(`${early} of the quiet tenant came before their time`)
  return { late: latenessOf(lateMs), due: dueIn(span), skipped }
}

function dueIn({ fromMs, toMs }: Span): number {
  return (quietJobs * (toMs - fromMs)) / 1_000
}

function report(size: Size, herd: Herd, before: Quiet, during: Quiet): void {
  const { jobs, goalEnqueuedS } = size
  const count = jobs.toLocaleString('en')
  const ratio = during.late.p99 / before.late.p99
  const quiet = ({ late, due, skipped }: Quiet) =>
    `p50 ${late.p50} ms, p99 ${late.p99} ms, max ${late.max} ms (${due} due, ${skipped} skipped)`
  table([
    {
      what: `${count} enqueued durably`,
      measured: `${herd.enqueuedS.toFixed(1)} s`,
      goal: `${goalEnqueuedS} s`,
    },
    {
      what: `${count} run and on record`,
      measured: `${herd.finishedS.toFixed(1)} s, ${(jobs / herd.finishedS).toFixed(0)} a second, ${herd.failed} failed`,
      goal: '',
    },
    { what: 'quiet tenant, late before', measured: quiet(before), goal: '' },
    { what: 'quiet tenant, late during', measured: quiet(during), goal: '' },
    { what: 'its p99 during over before', measured: ratio.toFixed(1), goal: `${quietGoalRatio} or less` },
  ])
  const bench = 'herd'
  figure({ bench, metric: `enqueued_${jobs}`, value: herd.enqueuedS, unit: 's' })
  figure({ bench, metric: `finished_${jobs}`, value: herd.finishedS, unit: 's' })
  figure({ bench, metric: 'quiet_p99_before', value: before.late.p99, unit: 'ms' })
  const against = 'its own baseline'
  figure({ bench, metric: 'quiet_p99_during', value: during.late.p99, unit: 'ms', ratio, against })
  figure({ bench, metric: 'quiet_skipped', value: during.skipped, unit: 'executions' })
}
