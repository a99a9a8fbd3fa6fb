// Fills an empty installation with a believable world, once: jobs through the API, as a user would make them, and
// thirty days of history before them. An installation that is filled already is left alone.
import { runIdOfSlot } from '../domain/graphs/graph-run.ts'
import { compileStored } from '../domain/schedule/compile-schedule.ts'
import { nextRun } from '../domain/schedule/next-run.ts'
import { OperatingError } from '../lib/operating-error.ts'
import { type EpochMs, epochMs, toRfc3339 } from '../lib/time/epoch.ts'
import { realTimers } from '../lib/time/timers.ts'
import { dayMs, hourMs, minuteMs } from '../lib/time/units.ts'
import type { Database } from '../postgres/connection/database.ts'
import {
  type AgedJob,
  type PastAttempt,
  type PastRun,
  readWorld,
  readWorldJobs,
  type WorldJob,
  type WorldPast,
  writePast,
} from '../postgres/history/demo-history.ts'
import { copyJobs, type DemoSize } from './copy-jobs.ts'
import { type DemoApi, openDemoApi } from './demo-api.ts'
import { foldAll } from './fold-all.ts'
import { calendar, type DemoJob, secondTenant } from './job-kit.ts'
import { demoJobs } from './jobs.ts'
import { type PastJob, type PastOutcome, playSlot } from './past.ts'
import { drawsOf } from './random.ts'

export interface DemoOptions {
  database: Database
  now: EpochMs
  url: string
  operatorKey: string
  shellCommands: readonly string[]
  /** For measuring; null: the world as it is. */
  size: DemoSize | null
  say: (text: string) => void
  /** Somebody wants the server to stop. */
  signal: AbortSignal
}

const seed = 7420
const soonMs = 6 * hourMs
/** How long jobs have been there, unless they say otherwise. */
const pastDaysDefault = 30
const unplaced = { url: 'http://127.0.0.1', shellCommands: [], soon: '' }

/** Refused before anything is written, and before anybody is told that the server is ready. */
export async function checkDemo(database: Database): Promise<'filled' | 'empty'> {
  const { filled, copied, stranger } = await readWorld(database, keysOf(demoJobs(unplaced)))
  if (filled) return 'filled'
  const advice = 'Start without --demo, or with another CARILLON_DATA.'
  if (stranger !== null)
    throw new OperatingError(
      `--demo fills an empty installation; this one has jobs such as ${stranger}. ${advice}`,
    )
  if (copied) throw new OperatingError(`An earlier fill by --demo-jobs was cut short. ${advice}`)
  return 'empty'
}

export async function fillDemo(options: DemoOptions): Promise<void> {
  const { database, now, url, operatorKey, shellCommands, size, say, signal } = options
  const soon = toRfc3339(epochMs(Math.ceil((now + soonMs) / 1_000) * 1_000))
  const jobs = demoJobs({ url, shellCommands, soon })
  const api = openDemoApi({ url, key: operatorKey })
  const tenantId = await api.makeTenant(secondTenant)
  await api.put(`/calendars/${calendar.name}`, { entries: calendar.entries })
  const ids = await createJobs(api, jobs, { tenantId, known: await readWorldJobs(database, keysOf(jobs)) })
  if (size !== null) await copyJobs({ database, now, say, signal }, size)
  const stored = await readWorldJobs(database, keysOf(jobs))
  const past = await makePast(jobs, stored, now)
  await writePast(database, past, now)
  // Only now: a run that they are part of is younger than the past.
  for (const job of jobs.filter(({ trigger }) => trigger))
    await api.post(`/jobs/${ids.get(job.key)}/trigger`, {})
  await foldAll(database)
  const count = past.attempts.length.toLocaleString('en')
  say(
    `Demo: ${jobs.length} jobs of 2 tenants (default and ${secondTenant.name}), ${count} attempts of the last 30 days, ${past.letters.length} dead letters.`,
  )
}

function keysOf(jobs: readonly DemoJob[]): string[] {
  return jobs.map(({ key }) => key)
}

/** Jobs of an earlier fill that was cut short are left as they are. Returns job ids by key. */
async function createJobs(
  api: DemoApi,
  jobs: readonly DemoJob[],
  { tenantId, known }: { tenantId: string; known: readonly WorldJob[] },
): Promise<Map<string, string>> {
  const ids = new Map(known.map((one) => [one.key, one.job_id]))
  for (const { key, tenant, after = [], past: _past, trigger: _trigger, pause, ...request } of jobs) {
    if (ids.has(key)) continue
    const of = tenant === 'second' ? tenantId : null
    const depends = after.map((parent) => ({ job_id: ids.get(parent)! }))
    const body = { ...request, ...(depends.length > 0 && { depends_on: depends }) }
    const { job_id: jobId } = await api.put<{ job_id: string }>(`/jobs/by-key/${key}`, body, of)
    ids.set(key, jobId)
    if (pause !== undefined) await api.patch(`/jobs/${jobId}/pause`, { reason: pause })
  }
  return ids
}

/** Of every job that has one, up to when it was made. */
async function makePast(
  jobs: readonly DemoJob[],
  stored: readonly WorldJob[],
  now: EpochMs,
): Promise<WorldPast> {
  const byKey = new Map(stored.map((one) => [one.key, one]))
  const attempts: PastAttempt[] = []
  const letters: WorldPast['letters'][number][] = []
  const runs: PastRun[] = []
  const aged: AgedJob[] = []
  const keep = (outcome: PastOutcome) => {
    for (const one of outcome.attempts) attempts.push(one)
    if (outcome.letter !== null) letters.push(outcome.letter)
    return outcome
  }
  for (const job of jobs) {
    // The server works meanwhile, in this thread.
    await realTimers.wait(0)
    const one = byKey.get(job.key)!
    const days = job.past === undefined ? 1 : (job.past.days ?? pastDaysDefault)
    const createdAt = now - days * dayMs
    const anchorAt = anchorBefore(one, createdAt)
    aged.push({ jobId: one.job_id, createdAt, anchorAt, madeAt: one.anchor_ms })
    if (job.past === undefined || job.after !== undefined) continue
    const members = one.graph_id === null ? [] : membersOf(job.key, jobs)
    const draw = drawsOf(seed, job.key)
    for (const slot of slotsOf(one, anchorAt, createdAt)) {
      if (members.length === 0)
        keep(
          playSlot(draw, pastOf(job, one), { slot, kind: 'slot', readyAt: slot, runId: null }, one.anchor_ms),
        )
      else runs.push(playRun(members, { byKey, draw, keep, slot, now: one.anchor_ms }))
    }
  }
  return { attempts, letters, runs, jobs: aged }
}

function pastOf({ past }: DemoJob, one: WorldJob): PastJob {
  const { job_id: jobId, tenant_id: tenantId, version, name, retry_policy: retryPolicy } = one
  return { jobId, tenantId, version, name, retryPolicy, past: past! }
}

/** Where the grid of an interval begins: earlier by whole steps, so that its slots to come stay where they are. */
function anchorBefore({ schedule, anchor_ms: anchor }: WorldJob, createdAt: number): number {
  const stepMs = stepMsOf(schedule)
  if (stepMs === null) return Math.min(anchor, createdAt)
  return anchor - Math.ceil(Math.max(0, anchor - createdAt) / stepMs) * stepMs
}

function stepMsOf(schedule: WorldJob['schedule']): number | null {
  const { every_seconds: seconds, interval } = schedule as { every_seconds?: number; interval?: string }
  if (seconds !== undefined) return seconds * 1_000
  const minutes = /^R\/PT(\d+)M$/.exec(interval ?? '')?.[1]
  return minutes === undefined ? null : Number(minutes) * minuteMs
}

/** The slots that would have run before the job was made. */
function* slotsOf(one: WorldJob, anchorAt: number, createdAt: number): Generator<number> {
  const { schedule, job_id: jobId } = one
  const compiled = compileStored({ schedule, anchorAt: epochMs(anchorAt), jobId })
  let slot = compiled === null ? null : nextRun(compiled, epochMs(createdAt))
  while (compiled !== null && slot !== null && slot < one.anchor_ms) {
    yield slot
    slot = nextRun(compiled, slot)
  }
}

/** A root and the jobs that run after it, each after its parents. */
function membersOf(root: string, jobs: readonly DemoJob[]): DemoJob[] {
  const found = new Set([root])
  for (const { key, after } of jobs) if (after?.some((parent) => found.has(parent))) found.add(key)
  return jobs.filter(({ key }) => found.has(key))
}

interface RunPlay {
  byKey: ReadonlyMap<string, WorldJob>
  draw: () => number
  keep: (outcome: PastOutcome) => PastOutcome
  slot: number
  now: number
}

function playRun(members: readonly DemoJob[], { byKey, draw, keep, slot, now }: RunPlay): PastRun {
  const places = new Map(members.map(({ key }, place) => [key, place]))
  const root = byKey.get(members[0]!.key)!
  const runId = runIdOfSlot(root.graph_id!, slot as EpochMs)
  const ends: PastOutcome[] = []
  const edges: [number, number, string][] = []
  for (const [place, job] of members.entries()) {
    const parents = (job.after ?? []).map((key) => places.get(key)!)
    for (const parent of parents) edges.push([parent, place, 'success'])
    const readyAt = Math.max(slot, ...parents.map((parent) => ends[parent]!.finishedAt + 5))
    const kind = parents.length === 0 ? 'slot' : 'dependency'
    const played = { slot, kind, readyAt: Math.min(readyAt, now - 2), runId } as const
    ends.push(keep(playSlot(draw, pastOf(job, byKey.get(job.key)!), played, now)))
  }
  const stored = members.map(({ key }) => byKey.get(key)!)
  return {
    ...{ runId, tenantId: root.tenant_id, slot, edges },
    jobIds: stored.map((one) => one.job_id),
    roles: `r${'i'.repeat(members.length - 1)}`,
    states: 's'.repeat(members.length),
    versions: stored.map((one) => one.version),
    executionIds: ends.map((one) => one.executionId),
    createdAt: slot,
    finishedAt: Math.max(...ends.map((one) => one.finishedAt)),
  }
}
