// A hundred jobs of every kind and the targets they call: quick ones, slow ones, some that fail sometimes and some
// that always do, some that answer later. Jobs are planned as the API plannedJobs them, most at the start, a few in the course of the day.
import { MISFIRE_POLICIES } from '@carillon/contract/constants.ts'
import type { JobRequest } from '@carillon/contract/job.ts'
import { ApiError } from '../../src/api/http/api-error.ts'
import { planJob } from '../../src/api/jobs/plan-new-job.ts'
import type { JobVersion, OverlapPolicy } from '../../src/domain/jobs/job.ts'
import { LaneChooser } from '../../src/domain/queue/lane.ts'
import { compileSchedule } from '../../src/domain/schedule/compile-schedule.ts'
import { epochMs, toRfc3339 } from '../../src/lib/time/epoch.ts'
import type { HttpRequest } from '../../src/ports/http.ts'
import type { Random } from '../../src/ports/random.ts'
import { unlimitedTier } from '../../testing/memory-store/first-tiers.ts'
import type { ScriptedAnswer } from '../virtual-world.ts'
import { answerLater } from './async-targets.ts'
import { startChanges } from './changes.ts'
import { drawAtChange, findClockChange } from './clock-changes.ts'
import { drawMs } from './faults.ts'
import { startDeeds } from './graph-deeds.ts'
import { type GraphOptions, startGraphs } from './graphs.ts'
import { startOrders } from './orders.ts'
import { type DrawnLimits, limitTenants } from './tenant-limits.ts'
import type { Simulation } from './world.ts'

export interface WorkloadOptions {
  /** No slot lies later; from the start of the simulation. */
  untilMs: number
  /** Default 100. */
  jobs?: number
  /** Graphs of jobs besides. Default one for each 50 jobs. */
  graphs?: number
  /** See `DeedOptions`. */
  deeds?: number
  /** Mean time between two changes of a job. Default 20,000. */
  changeEveryMs?: number
  /** Mean time between two things that people ask for by hand. Default: they ask for nothing. */
  orderEveryMs?: number
  /** Of the first tenants. Default: none has any. */
  limits?: readonly DrawnLimits[]
}

/** The delay that a target requests with 429. */
export const retryAfterSeconds = 7

type Schedule = Exclude<NonNullable<JobRequest['schedule']>, string>

// biome-ignore format: a list
const TARGETS = [
  'quick', 'quick', 'quick', 'flaky', 'busy', 'slow', 'broken', 'refusing', 'wrong', 'later', 'later', 'hung', 'reset',
] as const
type Target = (typeof TARGETS)[number]
const hostsPerTarget = 4
const TENANTS = [
  '00000000-0000-7000-8000-00000000000a',
  '00000000-0000-7000-8000-00000000000b',
  '00000000-0000-7000-8000-00000000000c',
] as const
// biome-ignore format: a list
const ZONES = [
  'UTC', 'Europe/Berlin', 'America/New_York', 'Asia/Kolkata', 'Australia/Lord_Howe', 'Africa/Cairo', 'America/Santiago',
] as const
/** Shared by a tenant's jobs. */
const KEYS = [
  { key: 'narrow', limit: 1 },
  { key: 'wide', limit: 3 },
] as const
/** Below the shortest gap of sparse schedules. */
const jitterSecondsMax = 40
const hourMs = 3_600_000
const refusals: readonly string[] = ['INVALID_SCHEDULE', 'SCHEDULED_TIME_TOO_OLD']
/** Of a job that runs every few seconds. */
const denseRuns = 1_200

export function startWorkload(sim: Simulation, options: WorkloadOptions): void {
  const random = sim.randomOf('workload')
  limitTenants(sim, TENANTS, options.limits ?? [])
  const create = createCreator(sim)
  setTargets(sim)
  const count = options.jobs ?? 100
  for (let i = 0; i < count; i++) {
    const share = i / count
    if (share < 0.06) create(baringMisfires(sim, requestOf(i, random, drawDense(sim, random, options, i))))
    else if (share < 0.84) create(requestOf(i, random, drawBounded(sim, random, options)))
    else startLater(sim, random, options, (schedule) => create(requestOf(i, random, schedule)))
  }
  createBusy(sim, options, create)
  const { untilMs, changeEveryMs: everyMs = 20_000 } = options
  const edits = sim.randomOf('edits')
  const drawSchedule = () =>
    toStored(sim, edits.next() < 0.7 ? drawBounded(sim, edits, options) : drawBurst(sim, edits, options))
  startChanges(sim, { untilMs, everyMs, drawSchedule })
  const graphs = options.graphs ?? Math.ceil(count / 50)
  const urlOf: GraphOptions['urlOf'] = (target, dice) =>
    `https://${target}-${dice.between(1, hostsPerTarget)}.example/graph`
  startGraphs(sim, { untilMs, graphs, tenants: TENANTS, keys: KEYS, urlOf })
  const { orderEveryMs, deeds } = options
  startDeeds(sim, { untilMs, ...(deeds === undefined ? {} : { deeds }) })
  if (orderEveryMs !== undefined) startOrders(sim, { untilMs, everyMs: orderEveryMs })
}

/** Of each tenant with limits, two jobs that ask for more than most limits allow. */
function createBusy(
  sim: Simulation,
  { limits = [], untilMs }: WorkloadOptions,
  create: (request: JobRequest, tenantId: string) => void,
): void {
  const random = sim.randomOf('busy')
  const end_at = timeOf(sim, untilMs)
  for (const index of limits.keys())
    for (const name of ['quick busy', 'quick and busy']) {
      const request: JobRequest = {
        name,
        schedule: { type: 'INTERVAL', every_seconds: drawMs(random, 2, 6), end_at },
        execution: { callback_url: 'https://quick-1.example/busy', timeout_seconds: 20 },
        overlap_policy: random.next() < 0.8 ? 'ALLOW' : 'BUFFER_ALL',
        misfire_window_seconds: drawMs(random, 10, 90),
        priority: drawMs(random, 1, 10),
      }
      create(request, TENANTS[index]!)
    }
}

function createCreator(sim: Simulation): (request: JobRequest, tenantId?: string) => void {
  const ids = sim.idsOf('api')
  const lanes = new LaneChooser()
  let created = 0
  return (request, given) => {
    const now = sim.world.clock.databaseNow()
    const tenantId = given ?? TENANTS[created++ % TENANTS.length]!
    const enqueue = () => ({ executionId: ids.nextBatch(), lane: lanes.choose(tenantId, now) })
    const context = { jobId: ids.next(), tenantId, tier: unlimitedTier, by: 'somebody', now, enqueue }
    try {
      void sim.tables.jobs.create(planJob(request, context))
    } catch (error) {
      // In a short simulation a rare schedule may have no slot left, and a job may come too late for its window.
      if (!(error instanceof ApiError && refusals.includes(error.code))) throw error
    }
  }
}

/** Every few seconds, for some hours. */
function drawDense(sim: Simulation, random: Random, { untilMs }: WorkloadOptions, index: number): Schedule {
  const everySeconds = [1, 2, 3, 5, 7, 10][index % 6]!
  const lastsMs = Math.min(untilMs, everySeconds * denseRuns * 1_000)
  const fromMs = sim.nowMs + Math.floor(random.next() * (untilMs - lastsMs))
  const start_at = timeOf(sim, fromMs)
  const end_at = timeOf(sim, fromMs + lastsMs)
  if (everySeconds === 7) return { type: 'INTERVAL', every_seconds: 7, start_at, end_at }
  const cron_expression = everySeconds === 1 ? '* * * * * *' : `*/${everySeconds} * * * * *`
  return { type: 'CRON', cron_expression, timezone: ZONES[index % ZONES.length]!, start_at, end_at }
}

/** Every minute or less often; some only so many times, some not at all times. */
function drawBounded(sim: Simulation, random: Random, options: WorkloadOptions): Schedule {
  const schedule = drawSparse(sim, random, options)
  const luck = random.next()
  if (luck < 0.15) return { ...schedule, max_runs: drawMs(random, 1, 40) }
  if (luck > 0.3) return schedule
  const fromMs = Math.floor(random.next() * options.untilMs)
  const toMs = fromMs + drawMs(random, 60_000, 2 * hourMs)
  return { ...schedule, exclusions: [{ from: timeOf(sim, fromMs), to: timeOf(sim, toMs) }] }
}

/** Every minute or less often. */
function drawSparse(sim: Simulation, random: Random, { untilMs }: WorkloadOptions): Schedule {
  const end_at = timeOf(sim, untilMs)
  const timezone = pick(random, ZONES)
  const minute = drawMs(random, 0, 59)
  const kind = random.next()
  if (kind < 0.08) return { type: 'CRON', cron_expression: '* * * * *', timezone, end_at }
  if (kind < 0.14) return { type: 'CRON', cron_expression: `${minute} * * * * *`, timezone, end_at }
  if (kind < 0.2) return { type: 'INTERVAL', interval: 'PT90S', end_at }
  if (kind < 0.4) return { type: 'INTERVAL', every_seconds: drawMs(random, 100, 1_000), end_at }
  if (kind < 0.7) return { type: 'CRON', cron_expression: '*/5 * * * *', timezone, end_at }
  if (kind < 0.85) return { type: 'CRON', cron_expression: `${minute} * * * *`, timezone, end_at }
  const change = findClockChange(sim, untilMs)
  if (change !== null) return { type: 'CRON', ...drawAtChange(random, change), end_at }
  return { type: 'CRON', cron_expression: `${minute} 0-4 * * *`, timezone, end_at }
}

/** Every few seconds, for some minutes: the schedule that an edit gives a job. */
function drawBurst(sim: Simulation, random: Random, { untilMs }: WorkloadOptions): Schedule {
  const end_at = timeOf(sim, Math.min(untilMs, sim.nowMs + drawMs(random, 60_000, 600_000)))
  const everySeconds = drawMs(random, 1, 40)
  if (random.next() < 0.5) return { type: 'INTERVAL', every_seconds: everySeconds, end_at }
  return {
    type: 'CRON',
    cron_expression: `*/${everySeconds} * * * * *`,
    timezone: pick(random, ZONES),
    end_at,
  }
}

/** As it is stored; null: it has no slot left. */
function toStored(sim: Simulation, schedule: Schedule): JobVersion['schedule'] | null {
  const answer = compileSchedule(schedule, { createdAt: sim.world.clock.databaseNow(), jobId: '' })
  return answer.ok ? answer.value.definition : null
}

/** Once, at once, or from some time of the day on. */
function startLater(
  sim: Simulation,
  random: Random,
  options: WorkloadOptions,
  create: (schedule: Schedule) => void,
): void {
  const kind = random.next()
  const atMs = Math.floor(random.next() * options.untilMs * 0.9)
  sim.world.timers.schedule(atMs, () => {
    if (kind < 0.2) create({ type: 'IMMEDIATE' })
    else if (kind < 0.7) {
      const inMs = drawMs(random, -30_000, Math.max(0, Math.min(hourMs, options.untilMs - sim.nowMs)))
      create({ type: 'ONE_TIME', scheduled_time: timeOf(sim, sim.nowMs + inMs) })
    } else create(drawBounded(sim, random, options))
  })
}

function requestOf(index: number, random: Random, schedule: Schedule): JobRequest {
  const target: Target = pick(random, TARGETS)
  const isBad = target === 'broken' || target === 'refusing'
  return {
    name: `${target} ${index}`,
    schedule,
    execution: {
      callback_url: `https://${target}-${drawMs(random, 1, hostsPerTarget)}.example/${index}`,
      timeout_seconds: target === 'hung' ? drawMs(random, 1, 20) : drawMs(random, 20, 60),
    },
    ...drawMisfire(random),
    retry_policy: {
      max_retries: isBad ? drawMs(random, 0, 2) : drawMs(random, 0, 4),
      backoff: pick(random, ['FIXED', 'LINEAR', 'EXPONENTIAL']),
      initial_delay_ms: drawMs(random, 500, 5_000),
      max_delay_ms: drawMs(random, 5_000, 60_000),
    },
    priority: drawMs(random, 1, 10),
    ...drawLimits(random, target, schedule),
  }
}

/**
 * In half of the seeds without limits and windows, behind which a wrong choice of missed slots would not show: in a quarter
 * of all seeds without overlap too, in another quarter with a catch-up that on-time slots meet.
 */
function baringMisfires(sim: Simulation, request: JobRequest): JobRequest {
  const luck = sim.randomOf('misfires').next()
  if (luck < 0.5) return request
  const {
    concurrency_limit: _limit,
    concurrency_key: _key,
    misfire_window_seconds: _window,
    ...rest
  } = request
  const execution = { ...rest.execution, callback_url: 'https://quick-1.example/misfires' }
  const policies: Partial<JobRequest> =
    luck < 0.75 ? { overlap_policy: 'ALLOW' } : { misfire_policy: 'FIRE_ALL', overlap_policy: 'SKIP' }
  return { ...rest, name: 'quick misfires', ...policies, execution }
}

/** The policy for slots that could not be fired in time; some have a window, which leaves the oldest slots out. */
function drawMisfire(random: Random): Partial<JobRequest> {
  const misfire_policy = pick(random, MISFIRE_POLICIES)
  return random.next() < 0.5
    ? { misfire_policy }
    : { misfire_policy, misfire_window_seconds: drawMs(random, 10, 90) }
}

/**
 * Overlap, limits and jitter. Settings that may cause long waits are for targets that answer at once, or the simulation
 * would not end.
 */
function drawLimits(random: Random, target: Target, schedule: Schedule): Partial<JobRequest> {
  const isSwift = target === 'quick' || target === 'wrong'
  const waits: readonly OverlapPolicy[] = [
    'BUFFER_ONE',
    isSwift ? 'BUFFER_ALL' : 'BUFFER_ONE',
    'CANCEL_RUNNING',
  ]
  const luck = random.next()
  const overlap_policy = luck < 0.3 ? 'ALLOW' : luck < 0.6 ? 'SKIP' : pick(random, waits)
  const isSparse = !('start_at' in schedule) && schedule.type !== 'IMMEDIATE'
  const drawn = [random.next(), random.next()] as const
  return {
    overlap_policy,
    ...(isSwift && overlap_policy === 'ALLOW' && drawn[0] < 0.3
      ? { concurrency_limit: drawMs(random, 1, 3) }
      : {}),
    ...(isSwift && drawn[0] > 0.6 ? { concurrency_key: pick(random, KEYS) } : {}),
    ...(isSparse && drawn[1] < 0.2 ? { jitter_seconds: drawMs(random, 1, jitterSecondsMax) } : {}),
  }
}

function setTargets(sim: Simulation): void {
  const random = sim.randomOf('targets')
  const answers: Record<Target, ((request: HttpRequest) => ScriptedAnswer) | null> = {
    quick: () => ({ status: 200, body: 'done', afterMs: drawMs(random, 1, 150) }),
    flaky: () => ({ status: random.next() < 0.3 ? 503 : 200, afterMs: drawMs(random, 1, 400) }),
    busy: () =>
      random.next() < 0.1
        ? { status: 429, headers: { 'retry-after': String(retryAfterSeconds) }, afterMs: 3 }
        : { status: 204, afterMs: drawMs(random, 1, 50) },
    slow: () => ({ status: 200, afterMs: Math.floor(500 + 90_000 * random.next() ** 4) }),
    broken: () => ({ status: 500, body: 'no', afterMs: drawMs(random, 1, 50) }),
    refusing: null,
    wrong: () => ({ status: 404, afterMs: drawMs(random, 1, 50) }),
    later: answerLater(sim),
    // The caller hears nothing until its time is over; whether the target did the work is unknown.
    hung: () => (random.next() < 0.5 ? { status: 200, afterMs: 3_600_000 } : { status: 200, afterMs: 5 }),
    reset: () => ({ status: 200, afterMs: drawMs(random, 1, 2_000), isReset: random.next() < 0.5 }),
  }
  for (const target of new Set(TARGETS)) {
    const answer = answers[target]
    if (answer === null) continue
    for (let i = 1; i <= hostsPerTarget; i++) sim.world.http.answer(`https://${target}-${i}.example`, answer)
  }
}

function timeOf(sim: Simulation, ms: number): string {
  const at = sim.options.startAt + ms
  return toRfc3339(epochMs(at - (at % 1_000)))
}

function pick<T>(random: Random, values: readonly T[]): T {
  return values[Math.floor(random.next() * values.length)]!
}
