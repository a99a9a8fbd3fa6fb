// The jobs of a run, drawn from its seed: every cadence, zone, overlap and misfire policy, limits and keys, and targets of
// every temper. Sized so that the slots of all of them come to the rate that is asked for.
import type { JobRequest } from '@carillon/contract/job.ts'
import type { Dice } from '../fuzz/dice.ts'
import type { Target } from './receiver-answers.ts'

type Schedule = Exclude<NonNullable<JobRequest['schedule']>, string>

export interface WorkloadOptions {
  receiverUrl: string
  apiUrls: readonly string[]
  /** Slots a second, of all jobs together. */
  slotsPerSecond: number
  /** Whether there are calls that take half a minute. */
  longCalls: boolean
}

/** A job to be created, under a name of its own. */
export type Draft = Omit<JobRequest, 'name'>

/** A job of a graph, and the jobs before it in the list that it runs after. */
export interface GraphDraft {
  job: Draft
  after: readonly { place: number; on: 'success' | 'completion' | 'failure' }[]
}

const ZONES = ['UTC', 'Europe/Berlin', 'America/New_York', 'Asia/Kolkata', 'Australia/Lord_Howe'] as const
const OVERLAPS = ['ALLOW', 'SKIP', 'BUFFER_ONE', 'BUFFER_ALL', 'CANCEL_RUNNING'] as const
const MISFIRES = ['FIRE_ONCE', 'FIRE_ALL', 'SKIP'] as const
/** Targets of jobs that queue: slow or failing, but never so that executions wait behind each other without end. */
const PATIENT_TARGETS = ['quick', 'quick', 'slow', 'busy'] as const
const ALL_TARGETS = [
  'quick',
  'quick',
  'quick',
  'slow',
  'slow',
  'flaky',
  'flaky',
  'busy',
  'reset',
  'hung',
  'broken',
  'wrong',
  'later',
  'later',
] as const satisfies readonly Target[]
const CADENCES = [1, 1, 1, 2, 2, 3, 5, 5, 7, 10] as const
const KEYS = [
  { key: 'narrow', limit: 1 },
  { key: 'wide', limit: 3 },
] as const
const graphsMax = 3
/** Below the shortest gap: that of every seven seconds is four, at the end of a minute. */
const jitterMax = 3
const slowMsMax = 4_000
/** Timeout of an attempt that hangs, or that gets no answer from its target. */
const timeoutSeconds = 4

/** Until their slots come to the rate. */
export function drawJobs(dice: Dice, options: WorkloadOptions): Draft[] {
  const drafts: Draft[] = [
    ...(options.longCalls ? [drawLong(options)] : []),
    drawMinutely(dice, options),
    ...KEYS.flatMap((key) => [1, 2, 3].map(() => drawKeyed(dice, options, key))),
  ]
  let left = options.slotsPerSecond - 6 / 4
  while (left > 0) {
    const everySeconds = dice.pick(CADENCES)
    drafts.push(drawRecurring(dice, options, everySeconds))
    left -= 1 / everySeconds
  }
  return drafts
}

/** A few, each with a root of its own, a fork, a join, and one that runs when something fails. */
export function drawGraphs(dice: Dice, options: WorkloadOptions): GraphDraft[][] {
  return Array.from({ length: graphsMax }, (_, index) => {
    const node = (target: Target): Draft => ({
      execution: executionOf(options, target, 400),
      retry_policy: drawRetries(dice),
    })
    const root = {
      ...node(index === 0 ? 'flaky' : 'quick'),
      schedule: drawCron(dice, [5, 7, 10][index]!),
      overlap_policy: dice.pick(['SKIP', 'ALLOW', 'BUFFER_ONE'] as const),
    }
    return [
      { job: root, after: [] },
      { job: node('slow'), after: [{ place: 0, on: 'success' as const }] },
      { job: node(index === 1 ? 'broken' : 'flaky'), after: [{ place: 0, on: 'completion' as const }] },
      {
        job: node('quick'),
        after: [
          { place: 1, on: 'success' as const },
          { place: 2, on: 'completion' as const },
        ],
      },
      { job: node('quick'), after: [{ place: 2, on: 'failure' as const }] },
    ]
  })
}

/** Once, at a whole second that is to come. */
export function drawOnce(dice: Dice, options: WorkloadOptions, dueAt: number): Draft {
  return {
    schedule: { type: 'ONE_TIME', scheduled_time: new Date(Math.ceil(dueAt / 1_000) * 1_000).toISOString() },
    execution: executionOf(options, dice.pick(ALL_TARGETS), 1_500),
    retry_policy: drawRetries(dice),
  }
}

export function drawRecurring(dice: Dice, options: WorkloadOptions, everySeconds: number): Draft {
  const overlap_policy = dice.pick(OVERLAPS)
  const isLimited = overlap_policy === 'ALLOW' && dice.chance(0.3)
  const waits = overlap_policy === 'BUFFER_ALL' || overlap_policy === 'BUFFER_ONE' || isLimited
  // Waiting executions must end: a job that fires every second and is always told to come later never catches up.
  const patient = everySeconds >= 5 ? PATIENT_TARGETS : (['quick', 'slow'] as const)
  const target = dice.pick<Target>(waits ? patient : ALL_TARGETS)
  const schedule = drawSchedule(dice, everySeconds)
  return {
    schedule,
    execution: executionOf(options, target, Math.min(slowMsMax, everySeconds * (waits ? 400 : 1_500))),
    retry_policy: drawRetries(dice),
    overlap_policy,
    misfire_policy: dice.pick(MISFIRES),
    priority: dice.between(1, 10),
    ...(everySeconds >= 5 && dice.chance(0.4) && { jitter_seconds: dice.between(1, jitterMax) }),
    ...(isLimited && { concurrency_limit: dice.between(1, 3) }),
  }
}

export function drawSchedule(dice: Dice, everySeconds: number): Schedule {
  return dice.chance(0.35) ? { type: 'INTERVAL', every_seconds: everySeconds } : drawCron(dice, everySeconds)
}

/** Attempts that outlive a restart of the database; three are under way at any time, and none waits for another. */
function drawLong(options: WorkloadOptions): Draft {
  return {
    schedule: { type: 'INTERVAL', every_seconds: 10 },
    execution: { ...executionOf(options, 'long', 30_000), timeout_seconds: 180 },
    overlap_policy: 'ALLOW',
    misfire_policy: 'SKIP',
  }
}

function drawMinutely(dice: Dice, options: WorkloadOptions): Draft {
  return {
    schedule: { type: 'CRON', cron_expression: '* * * * *', timezone: 'Asia/Kathmandu' },
    execution: executionOf(options, 'quick', 0),
    misfire_policy: dice.pick(MISFIRES),
  }
}

function drawKeyed(dice: Dice, options: WorkloadOptions, concurrency_key: (typeof KEYS)[number]): Draft {
  return {
    schedule: drawSchedule(dice, 4),
    execution: executionOf(options, 'slow', 900),
    overlap_policy: dice.pick(['ALLOW', 'SKIP', 'BUFFER_ONE'] as const),
    concurrency_key,
  }
}

function drawCron(dice: Dice, everySeconds: number): Schedule {
  const cron_expression = everySeconds === 1 ? '* * * * * *' : `*/${everySeconds} * * * * *`
  return { type: 'CRON', cron_expression, timezone: dice.pick(ZONES) }
}

function drawRetries(dice: Dice): NonNullable<JobRequest['retry_policy']> {
  return {
    max_retries: dice.between(0, 3),
    backoff: dice.pick(['FIXED', 'LINEAR', 'EXPONENTIAL'] as const),
    initial_delay_ms: dice.between(100, 500),
    max_delay_ms: 2_000,
  }
}

function executionOf(
  { receiverUrl, apiUrls }: WorkloadOptions,
  target: Target,
  ms: number,
): JobRequest['execution'] {
  // Workers do not know where the API is; a target that answers later must.
  const apis = target === 'later' ? apiUrls.map((api) => `&api=${encodeURIComponent(api)}`).join('') : ''
  return {
    callback_url: `${receiverUrl}/${target}?ms=${ms}${apis}`,
    payload: { target },
    timeout_seconds: target === 'hung' || target === 'later' ? timeoutSeconds : 60,
  }
}
