// A server in a process of its own and two tenants: `victim` has jobs of every second, `evil` attacks. While the attack
// runs, each execution of the victim starts within a second of its time and succeeds.
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import type pg from 'pg'
import { realTimers } from '../../src/lib/time/timers.ts'
import { cleanUp } from '../cleanup.ts'
import { until } from '../e2e/api.ts'
import { createFleet, fleetKey, type LaunchOptions } from '../processes/fleet.ts'
import {
  type Arrival,
  genuineAnswer,
  startTarget,
  type Target,
  type TargetPath,
  type TargetReport,
} from './target.ts'
import { createAttackerTier, createTenant, type TenantCaller } from './tenant-caller.ts'

const victimJobs = 3
const startMsMax = 1_000
/** For the last executions to end. */
const endMsMax = 5_000
/** In a failure. */
const hurtShown = 5

export interface SceneOptions extends LaunchOptions {
  /** Of the attacker. Default: see `createAttackerTier`. */
  evilTier?: string
  /** Hosts of the attacker's target. Default: 1. */
  evilHosts?: number
  /** Default: it answers at once. */
  victimPath?: TargetPath
  /** The host of the victim's target as its jobs name it. Default: its address. */
  victimHost?: string
}

export interface Scene {
  url: string
  client: pg.Client
  evil: TenantCaller
  victim: TenantCaller
  /** The target of the victim. */
  target: Target
  /** The target of the attacker. */
  evilTarget: Target
  /**
   * Lets so many seconds pass, and asserts that the executions of the victim in them started on time and succeeded. Returns
   * the report of its target.
   */
  assertUnhurt: (seconds: number) => Promise<TargetReport>
}

export async function setupScene(t: TestContext, options: SceneOptions = {}): Promise<Scene> {
  const { evilTier, evilHosts = 1, victimPath = '/victim', victimHost, env, ...launch } = options
  const fleet = await createFleet(t)
  const target = await startTarget()
  cleanUp(t, () => target[Symbol.asyncDispose]())
  const evilTarget = await startTarget(evilHosts)
  cleanUp(t, () => evilTarget[Symbol.asyncDispose]())
  const { url } = await fleet.start('api,scheduler,worker', {
    ...launch,
    env: { CARILLON_ALLOW_PRIVATE_TARGETS: '127.0.0.0/8', CARILLON_LOG_LEVEL: 'info', ...env },
  })
  assert(url !== null)
  const tenant = (name: string, tier: string) => createTenant({ url, operatorKey: fleetKey, name, tier })
  const victim = await tenant('victim', 'enterprise')
  const evil = await tenant('evil', evilTier ?? (await createAttackerTier(url, fleetKey)))
  const victimUrl = target.url(victimPath).replace('127.0.0.1', victimHost ?? '127.0.0.1')
  const jobIds: string[] = []
  for (let n = 0; n < victimJobs; n++) {
    const schedule = { cron_expression: '* * * * * *' }
    const execution = { callback_url: victimUrl, timeout_seconds: 5 }
    const job = { name: `every second ${n}`, schedule, execution }
    jobIds.push((await victim.make<{ job_id: string }>('/jobs', job)).job_id)
  }
  let arrived = 0
  await until(async () => {
    arrived += (await target.take()).arrivals.length
    return arrived >= 2 * victimJobs ? true : null
  }, 'the jobs of the victim are called')
  return { url, client: fleet.client, evil, victim, target, evilTarget, assertUnhurt }

  async function assertUnhurt(seconds: number): Promise<TargetReport> {
    await target.take()
    const fromMs = Math.ceil(Date.now() / 1_000) * 1_000
    const toMs = fromMs + seconds * 1_000
    await realTimers.wait(toMs - Date.now())
    const slots = await readEnded({ fromMs, toMs })
    const report = await target.take()
    const judged = slots.map((slot) => ({ ...slot, startMs: startMsOf(slot, report.arrivals) }))
    const starts = judged.map(({ startMs }) => startMs).toSorted((a, b) => a - b)
    t.diagnostic(
      `victim: ${starts.length} executions, start p50 ${starts[Math.floor(starts.length / 2)]} ms, max ${starts.at(-1)} ms`,
    )
    assert.equal(judged.length, victimJobs * seconds)
    const hurt = judged.filter((slot) => !isUnhurt(slot))
    const few = hurt.slice(0, hurtShown).map((slot) => JSON.stringify(slot))
    assert.equal(
      hurt.length,
      0,
      `${hurt.length} of ${judged.length} executions were hurt, such as ${few.join('\n')}`,
    )
    return report
  }

  async function readEnded(window: { fromMs: number; toMs: number }): Promise<Slot[]> {
    while (true) {
      const slots = await readSlots(fleet.client, { jobIds, ...window })
      if (slots.every(hasEnded) || Date.now() > window.toMs + endMsMax) return slots
      await realTimers.wait(100)
    }
  }

  function isUnhurt({ outcome, attempt, startMs, preview }: Slot & { startMs: number }): boolean {
    const isGenuine = victimPath === '/victim-later' || preview === genuineAnswer
    return outcome === 'succeeded' && attempt === 1 && startMs <= startMsMax && isGenuine
  }
}

interface Slot {
  slotMs: number
  /** Null: it was skipped, or has not fired. */
  executionId: string | null
  skipReason: string | null
  /** Null: it has not ended. */
  outcome: string | null
  errorType: string | null
  attempt: number | null
  preview: string | null
}

/** Every slot of these jobs in [fromMs, toMs). */
async function readSlots(
  client: pg.Client,
  { jobIds, fromMs, toMs }: { jobIds: string[]; fromMs: number; toMs: number },
): Promise<Slot[]> {
  const { rows } = await client.query<Slot>(
    `SELECT to_ms(due.slot)::float8 AS "slotMs", s.reason AS "skipReason",
      CASE WHEN s.reason IS NULL THEN s.execution_id END AS "executionId",
      a.outcome, a.error_type AS "errorType", a.attempt::int AS attempt, a.preview
    FROM unnest($1::uuid[]) AS job (job_id)
      CROSS JOIN generate_series(to_timestamp($2), to_timestamp($3), interval '1 second') AS due (slot)
      LEFT JOIN slots s ON s.job_id = job.job_id AND s.slot = due.slot
      LEFT JOIN attempts a ON a.job_id = job.job_id AND a.execution_id = s.execution_id AND a.final AND s.reason IS NULL
    ORDER BY 1`,
    [jobIds, fromMs / 1_000, toMs / 1_000 - 1],
  )
  return rows
}

const hasEnded = ({ outcome, skipReason }: Slot): boolean => outcome !== null || skipReason !== null

/** From the time of a slot to the first call at the target; endless if it was not called. */
function startMsOf({ slotMs, executionId }: Slot, arrivals: readonly Arrival[]): number {
  const first = arrivals.find((arrival) => arrival.executionId === executionId)
  return first === undefined ? Number.POSITIVE_INFINITY : first.atMs - slotMs
}
