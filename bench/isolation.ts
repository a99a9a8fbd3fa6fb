// npm run bench -- isolation [--quick]: how late the executions of one tenant start, and end, while another attacks. Each
// attack follows a quiet window of the same length, so that both have the same machine.
import type pg from 'pg'
import {
  endlessAnswers,
  endlessHosts,
  floodsOf,
  hangingCalls,
  hangingHosts,
  largeJobs,
} from '../server/test/exhaustion/attacks.ts'
import { startLoops } from '../server/test/exhaustion/loops.ts'
import { startTarget, type Target } from '../server/test/exhaustion/target.ts'
import {
  createAttackerTier,
  createTenant,
  type TenantCaller,
} from '../server/test/exhaustion/tenant-caller.ts'
import { type Carillon, makeDataDir, startCarillon } from './carillon.ts'
import { countSlots, registerDue, withDatabase } from './due-jobs.ts'
import { createPacedTier } from './limited-tenant.ts'
import { wait } from './load.ts'
import type { BenchOptions } from './main.ts'
import { figure, say, table } from './output.ts'
import { firstCalls, startTimedTarget, type TimedTarget } from './timed-target.ts'

const victimJobs = 20
const tag = 'victim'
/** From the registration of the jobs: connections are open by then, and code is compiled. */
const warmUpMs = 10_000
/** After an attack has begun: its first calls are under way. */
const attackMs = 3_000
/** For the last executions of a window to end. */
const endMs = 3_000
/** For an attack to be over once its jobs are deleted. */
const overMsMax = 120_000
const goalMs = 250
const goalRatio = 2
const pageLoops = 16
const pageJobs = 200
const floodRequests = 5
const endlessEveryMs = 5_000
const herdJobs = 50_000
/** Of the tenant with the herd: all but two minutes' worth waits for the budget. */
const herdPerMinute = 1_000
const herdLeadMs = 2_000
/** Jobs that are deleted one by one; the tenant of more is deleted instead. */
const deletedJobsMax = 1_000

interface Attack {
  name: string
  metric: string
  tier: string
  hosts: number
  /** Returns once it is under way; it goes on until it is disposed. */
  start: (evil: TenantCaller, target: Target, client: pg.Client) => Promise<AsyncDisposable>
}

const attacks: readonly Attack[] = [
  {
    name: '3,000 calls that hang',
    metric: 'hanging',
    tier: 'attacker',
    hosts: hangingHosts,
    async start(evil, target) {
      await hangingCalls(evil, target)
      return nothing
    },
  },
  {
    name: `${pageLoops} loops of large pages`,
    metric: 'pages',
    tier: 'unlimited',
    hosts: 1,
    async start(evil) {
      await largeJobs(evil, pageJobs)
      const paths = ['/jobs?limit=200', '/jobs?limit=200&include=payload']
      let turn = 0
      return startLoops(pageLoops, () => evil.read(paths[turn++ % paths.length]!))
    },
  },
  {
    name: `${floodRequests},000 triggers a second`,
    metric: 'floods',
    tier: 'attacker',
    hosts: 1,
    async start(evil, target) {
      return startLoops(1, async () => {
        const next = wait(1_000)
        await floodsOf(evil, target.url('/counted'), floodRequests)
        await next
      })
    },
  },
  {
    name: 'answers without end',
    metric: 'endless',
    tier: 'attacker',
    hosts: endlessHosts,
    async start(evil, target) {
      return startLoops(1, async () => {
        const next = wait(endlessEveryMs)
        await endlessAnswers(evil, target)
        await next
      })
    },
  },
  {
    name: `${herdJobs.toLocaleString('en')} slots due at once, ${herdPerMinute.toLocaleString('en')} a minute allowed`,
    metric: 'herd',
    tier: 'paced',
    hosts: 1,
    async start({ tenantId }, target, client) {
      const firstMs = Math.ceil((Date.now() + herdLeadMs) / 1_000) * 1_000
      const once = { cron: '* * * * * *', firstMs, lastMs: firstMs }
      const url = target.url('/counted')
      await registerDue(client, { tag: 'herd', count: herdJobs, tenantId, ...once, url })
      return nothing
    },
  },
]
const nothing: AsyncDisposable = { async [Symbol.asyncDispose]() {} }

interface Installation {
  carillon: Carillon
  client: pg.Client
  target: TimedTarget
}

interface Window {
  /** From the time of a slot to the call. */
  startMs: number[]
  /** From the time of a slot to the recorded end. */
  endMs: number[]
  failed: number
  /** Slots that did not run, or were called later than the window allows. */
  missing: number
}

export async function run({ quick }: BenchOptions): Promise<void> {
  const seconds = quick ? 15 : 60
  await using dataDir = await makeDataDir()
  await using carillon = await startCarillon(dataDir.path)
  await using target = await startTimedTarget()
  const rows: Record<string, unknown>[] = []
  const missed: string[] = []
  await createAttackerTier(carillon.url, carillon.key)
  await createPacedTier(carillon, 'paced', herdPerMinute)
  await withDatabase(dataDir.path, async (client) => {
    const installation = { carillon, client, target }
    await createVictim(installation)
    for (const attack of attacks) {
      const quiet = await measureWindow(installation, seconds)
      const attacked = await measureAttack(installation, attack, seconds)
      rows.push(rowOf(attack, quiet, attacked))
      if (!isWithinGoal(quiet, attacked)) missed.push(attack.name)
    }
  })
  table(rows)
  say('ms: from the time of a slot to the call at the target, and to the end on record.')
  say(`Goal: p95 at most ${goalRatio} x the quiet one, or ${goalMs} ms; nothing fails, nothing is missing.`)
  if (missed.length > 0) throw new Error(`the goal is missed under: ${missed.join(', ')}`)
}

async function createVictim({ carillon, client, target }: Installation): Promise<void> {
  const { tenantId } = await tenantOf(carillon, 'victim', 'enterprise')
  const firstMs = Math.ceil((Date.now() + 3_000) / 1_000) * 1_000
  const jobs = { tag, count: victimJobs, tenantId, cron: '* * * * * *', firstMs, url: target.url }
  await registerDue(client, jobs)
  await wait(warmUpMs)
}

function tenantOf({ url, key }: Carillon, name: string, tier: string): Promise<TenantCaller> {
  return createTenant({ url, operatorKey: key, name, tier })
}

async function measureAttack(installation: Installation, attack: Attack, seconds: number): Promise<Window> {
  const evil = await tenantOf(installation.carillon, attack.metric, attack.tier)
  await using target = await startTarget(attack.hosts)
  try {
    await using _running = await attack.start(evil, target, installation.client)
    await wait(attackMs)
    await target.take()
    const window = await measureWindow(installation, seconds)
    const { calls, held, hostileBytes } = await target.take()
    say(
      `${attack.name}: calls ${JSON.stringify(calls)}, ${held} hang, ${hostileBytes} bytes without end, ${evil.bytes} bytes of pages, requests ${JSON.stringify(Object.fromEntries(evil.statuses))}`,
    )
    return window
  } finally {
    await endAttack(installation, evil)
  }
}

async function measureWindow({ client, target }: Installation, seconds: number): Promise<Window> {
  await target.take()
  const fromMs = Math.ceil(Date.now() / 1_000) * 1_000
  const toMs = fromMs + seconds * 1_000
  await wait(toMs + endMs - Date.now())
  const { lateMs } = firstCalls(await target.take(), { fromMs, toMs })
  const { rows } = await client.query<{ ms: number; outcome: string }>(
    `SELECT (to_ms(a.finished_at) - to_ms(a.slot))::float8 AS ms, a.outcome
    FROM attempts a JOIN jobs j USING (job_id)
    WHERE j.tags @> ARRAY[$1] AND a.slot >= to_timestamp($2) AND a.slot < to_timestamp($3)`,
    [tag, fromMs / 1_000, toMs / 1_000],
  )
  const { fired, skipped } = await countSlots(client, { tag, fromMs, toMs })
  const expected = victimJobs * seconds
  if (fired + skipped > expected) throw new Error(`${fired + skipped} slots instead of ${expected}`)
  return {
    startMs: [...lateMs.values()],
    endMs: rows.map(({ ms }) => ms),
    failed: rows.filter(({ outcome }) => outcome !== 'succeeded').length,
    missing: expected - lateMs.size,
  }
}

/** Deletes the jobs of the attack, or its tenant, and waits until nothing of it is under way. */
async function endAttack({ carillon, client }: Installation, { tenantId }: TenantCaller): Promise<void> {
  const jobs = 'SELECT job_id FROM jobs WHERE tenant_id = $1'
  const { rows } = await client.query<{ job_id: string }>(jobs, [tenantId])
  const headers = { authorization: `Bearer ${carillon.key}`, 'x-tenant-id': tenantId }
  if (rows.length > deletedJobsMax)
    await fetch(`${carillon.url}/api/v1/tenants/${tenantId}`, {
      method: 'DELETE',
      headers: { authorization: headers.authorization },
    })
  else
    for (const { job_id: jobId } of rows)
      await fetch(`${carillon.url}/api/v1/jobs/${jobId}?cancel_running=true`, { method: 'DELETE', headers })
  for (const untilMs = performance.now() + overMsMax; ; await wait(500)) {
    const { rows: found } = await client.query<{ open: boolean }>(
      `SELECT EXISTS (SELECT FROM live WHERE tenant_id = $1)
        OR EXISTS (SELECT FROM batches WHERE job_ids && ARRAY(${jobs})) AS open`,
      [tenantId],
    )
    if (!found[0]!.open) return
    if (performance.now() > untilMs) throw new Error(`the attack is under way ${overMsMax} ms after its end`)
  }
}

function p95Of(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(0.95 * sorted.length))] ?? Number.NaN
}

function isWithinGoal(quiet: Window, attacked: Window): boolean {
  const isOnTime = (part: 'startMs' | 'endMs') =>
    p95Of(attacked[part]) <= Math.max(goalMs, goalRatio * p95Of(quiet[part]))
  return attacked.failed === 0 && attacked.missing === 0 && isOnTime('startMs') && isOnTime('endMs')
}

function rowOf({ name, metric }: Attack, quiet: Window, attacked: Window): Record<string, unknown> {
  const p95 = {
    start: [p95Of(quiet.startMs), p95Of(attacked.startMs)],
    end: [p95Of(quiet.endMs), p95Of(attacked.endMs)],
  } as const
  for (const part of ['start', 'end'] as const) {
    const [before, during] = p95[part]
    const ratio = during / before
    figure({
      bench: 'isolation',
      metric: `${part}_p95_${metric}`,
      value: during,
      unit: 'ms',
      ratio,
      against: 'quiet',
    })
  }
  const ms = (value: number) => value.toFixed(0)
  return {
    attack: name,
    'start p95, quiet': ms(p95.start[0]),
    'under attack': ms(p95.start[1]),
    max: ms(attacked.startMs.toSorted((a, b) => a - b).at(-1) ?? Number.NaN),
    'end p95, quiet': ms(p95.end[0]),
    'under attack ': ms(p95.end[1]),
    failed: attacked.failed,
    missing: attacked.missing,
  }
}
