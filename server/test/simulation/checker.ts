// The independent checker: reads the records of the store and the calls that the targets saw, computes on its own which
// slots there should have been, and reports every mismatch. It knows nothing of how the stages work. The numbers of the
// invariants are the ones of docs/internals/invariants.md.

import type { ExecutionSkipReason } from '../../src/domain/graphs/graph-run.ts'
import type { JobVersion } from '../../src/domain/jobs/job.ts'
import type { ExecutionKind, Outcome } from '../../src/domain/queue/execution.ts'
import { compileStored } from '../../src/domain/schedule/compile-schedule.ts'
import { dueAtOf } from '../../src/domain/schedule/jitter.ts'
import { slotsBetween, slotsBetweenMax } from '../../src/domain/schedule/next-run.ts'
import type { EpochMs } from '../../src/lib/time/epoch.ts'
import type { AttemptRow, JobRow } from '../../testing/memory-store/rows.ts'
import type { MemoryStore } from '../../testing/memory-store/store.ts'
import type { VirtualHttp } from '../virtual-world.ts'
import type { Word } from './async-targets.ts'
import type { Charged, HeldStretch } from './budget-witness.ts'
import type { Change } from './changes.ts'
import { checkAttempts } from './check-attempts.ts'
import { checkBudgets } from './check-budgets.ts'
import { checkCalls } from './check-calls.ts'
import { checkChanges } from './check-changes.ts'
import { checkGraphJobs } from './check-graph-jobs.ts'
import { checkLeftovers } from './check-leftovers.ts'
import { checkLimits } from './check-limits.ts'
import { checkMisfires } from './check-misfires.ts'
import { checkOrders } from './check-orders.ts'
import { checkOverlap } from './check-overlap.ts'
import { checkRuns } from './check-runs.ts'
import { checkSlots } from './check-slots.ts'
import { checkWords } from './check-words.ts'
import { countSeen } from './count-seen.ts'
import { type Fault, slowCallMsMax } from './faults.ts'
import type { GraphDeed } from './graph-deeds.ts'
import type { GraphMember } from './graphs.ts'
import type { Order } from './orders.ts'
import type { Sender } from './world.ts'

/** The longest round trip of a call that nothing delays. */
const slackMsMin = 20
/** A worker goes on for so long without a look at the database's clock. */
const unsyncedMsMax = 90_000

export interface Evidence {
  store: MemoryStore
  sent: VirtualHttp['sent']
  /** The sender of each call of `sent`. */
  senders: readonly Sender[]
  faults: readonly Fault[]
  changes: readonly Change[]
  /** The later reports of targets. */
  words: readonly Word[]
  /** Jobs that depend on each other, and the actions of people on them and their runs. */
  graphs: ReadonlyMap<string, GraphMember>
  deeds: readonly GraphDeed[]
  /** The requests made by hand. */
  orders: readonly Order[]
  /** The reading of the database's clock at a ms of `sent` and `faults`. */
  databaseAt: (ms: number) => EpochMs
  /** When each execution came to be. */
  bornAt: ReadonlyMap<string, EpochMs>
  /** The executions of tenants with a limit on executions a minute. */
  chargedAt: ReadonlyMap<string, Charged>
  heldStretches: readonly HeldStretch[]
  /** The executions that waited for the budget. */
  heldBack: ReadonlySet<string>
  /** How far the clock of a server runs wrong, at most: see `DrawnOptions`. */
  driftMax: number
  /** By how much that clock was put back, in all. */
  backMs: number
  /** Polls come as often as in production: when nothing goes wrong, nothing is late. */
  isPunctual: boolean
  /** How many times rarer than in production the polls are. */
  pollFactor: number
  /** No slot lies later. */
  untilAt: number
  /** The delay that targets request with 429. */
  retryAfterMs: number
}

export interface Violation {
  /** Such as I1. */
  invariant: string
  what: string
  /** When it was seen, on the virtual clock; absent: when all was over. */
  atMs?: number
}

/** One call that a target saw. */
export interface Call {
  at: EpochMs
  /** The same by the clock of the server that made it. */
  saidAt: number
  attempt: number
  server: string
  headers: Readonly<Record<string, string>>
}

/** One execution as it is on record. */
export interface RecordedExecution {
  executionId: string
  jobId: string
  kind: ExecutionKind
  slot: EpochMs
  /** The execution that it replaces; null: none. */
  retryOf: string | null
  /** The graph run it belongs to; null: it ran alone. */
  runId: string | null
  /** How it ended at last. */
  outcome: Outcome
  /** Null: it was not skipped. */
  skipReason: ExecutionSkipReason | null
  /** The version it was fired with. */
  version: number
  firedAt: EpochMs
  endedAt: EpochMs
  /** Null: it was not cancelled. */
  cancelledAt: EpochMs | null
  /** Why it was cancelled. */
  cancelMessage: string | null
  attempts: readonly AttemptRow[]
  /** In the order they were made. */
  calls: readonly Call[]
}

export interface CheckedJob {
  job: JobRow
  /** The first one: later ones call the same target by the same policies. */
  version: JobVersion
  /** Every slot there should be, in order. */
  expected: readonly EpochMs[]
  /** While one schedule was in force, in order. */
  reigns: readonly Reign[]
  changes: readonly Change[]
  /** The ended executions, by slot. */
  executions: readonly RecordedExecution[]
  /** Everything that may block a slot: the executions, or the runs that they start. */
  inTheWay: readonly Pick<RecordedExecution, 'slot' | 'firedAt' | 'endedAt'>[]
}

/** The time in which one schedule was in force: it has the slots after `from` up to `to`. */
export interface Reign {
  from: EpochMs
  to: EpochMs
  /** The versions with this schedule. */
  versionMin: number
  versionMax: number
  /** The change that ended it found the job COMPLETED. */
  endsCompleted: boolean
}

export interface Context {
  evidence: Evidence
  /** Nothing went wrong: nothing may be late or skipped for no reason. */
  plain: boolean
  /**
   * How far two instants of different clocks may lie apart: servers know the database's time to within a round trip
   * plus their drift since, and the database's clock may have been put back.
   */
  slackMs: number
  say: (invariant: string, what: string) => void
  /** The reports of the target of an execution on its attempts. */
  wordsOf: (executionId: string) => readonly Word[]
  /** Whether another took its place, by hand or when its run was resumed: then its dead letter is gone. */
  isReplaced: (executionId: string) => boolean
  /** Whether something went wrong, for this server or for all, between two instants. */
  wasFaulty: (server: string | null, from: number, to: number) => boolean
  /** The same for charges: with the failed calls that may cost a tenant budget or room. */
  wasChargeFaulty: Context['wasFaulty']
}

export interface Verdict {
  violations: Violation[]
  /** How often each event happened: a simulation that meets nothing proves nothing. */
  seen: Record<string, number>
}

export function checkAll(evidence: Evidence): Verdict {
  const violations: Violation[] = []
  const words = Map.groupBy(evidence.words, ({ executionId }) => executionId)
  const runs = [...evidence.store.graphRuns.values()]
  const replaced = new Set(runs.flatMap((run) => run.replaced.map(({ executionId }) => executionId)))
  const all = gather(evidence)
  for (const { executions } of all)
    for (const { retryOf } of executions) if (retryOf !== null) replaced.add(retryOf)
  const context: Context = {
    evidence,
    plain: evidence.isPunctual && evidence.faults.length === 0,
    slackMs: slackOf(evidence),
    say: (invariant, what) => void violations.push({ invariant, what }),
    wordsOf: (executionId) => words.get(executionId) ?? [],
    isReplaced: (executionId) => replaced.has(executionId),
    // A failed call of another loop explains nothing about executions and slots.
    wasFaulty: createFaultIndex(evidence, /^(queue|leases|slots|attempts)\./),
    wasChargeFaulty: createFaultIndex(evidence, /^(slots\.fire|executionBudgets\.draw|tenantRoom\.)/),
  }
  const [jobs, graphJobs] = [false, true].map((isGraph) =>
    all.filter(({ job }) => evidence.graphs.has(job.jobId) === isGraph),
  ) as [CheckedJob[], CheckedJob[]]
  for (const job of jobs) {
    checkSlots(context, { ...job, executions: job.executions.filter(isOfSlot) })
    checkMisfires(context, job)
    checkChanges(context, job)
    const executions = job.executions.filter(({ skipReason }) => skipReason === null)
    checkAttempts(context, { ...job, executions })
    checkCalls(context, job)
    checkOverlap(context, job)
    checkWords(context, job)
  }
  checkGraphJobs(context, graphJobs, checkRuns(context, graphJobs))
  checkOrders(context, jobs)
  checkLeftovers(context, all)
  checkLimits(context, jobs, graphJobs)
  checkBudgets(context, all)
  return { violations, seen: countSeen(context, jobs, graphJobs) }
}

/** Twice the worst error at a call: it may be worse a moment later. */
function slackOf({ sent, senders, databaseAt, backMs, driftMax, faults }: Evidence): number {
  const slowMs = faults.some(({ kind }) => kind === 'slow') ? slowCallMsMax / 2 : 0
  const errorsMs = sent.map(({ at }, index) => Math.abs(databaseAt(at) - senders[index]!.saidAt))
  return (
    backMs + slowMs + slackMsMin + driftMax * unsyncedMsMax + 2 * errorsMs.reduce((a, b) => Math.max(a, b), 0)
  )
}

function gather(evidence: Evidence): CheckedJob[] {
  const calls = Map.groupBy(
    evidence.sent.map(({ at, request }, index): Call => {
      const attempt = Number(request.headers['x-attempt-number'])
      const { server, saidAt } = evidence.senders[index]!
      return { at: evidence.databaseAt(at), saidAt, attempt, server, headers: request.headers }
    }),
    ({ headers }) => headers['x-execution-id']!,
  )
  const changes = Map.groupBy(evidence.changes, ({ jobId }) => jobId)
  return [...evidence.store.jobs.values()].map((job) => {
    const executions = [...job.ended].flatMap((executionId) => {
      const rows = evidence.store.log.of(executionId)
      return rows.length === 0 ? [] : [recordedOf(rows, calls.get(executionId) ?? [])]
    })
    executions.sort((a, b) => a.slot - b.slot)
    const own = changes.get(job.jobId) ?? []
    const reigns = reignsOf(job, own, evidence.untilAt as EpochMs)
    const expected = withinRuns(job, reigns)
    const version = job.versions.get(1)!
    // An execution requested by hand also blocks others while it waits for its turn.
    const inTheWay = executions.map((one) =>
      isOfSlot(one) ? one : { ...one, firedAt: evidence.bornAt.get(one.executionId) ?? one.firedAt },
    )
    return { job, version, expected, reigns, changes: own, executions, inTheWay }
  })
}

function recordedOf(rows: readonly AttemptRow[], calls: readonly Call[]): RecordedExecution {
  const [first, last] = [rows[0]!, rows.at(-1)!]
  const isCancelled = last.outcome === 'cancelled'
  const isSkipped = last.outcome === 'skipped'
  return {
    executionId: first.executionId,
    jobId: first.jobId,
    kind: first.kind,
    slot: first.slot,
    retryOf: first.retryOf,
    runId: first.runId,
    outcome: last.outcome,
    skipReason: last.skipReason,
    version: first.version,
    firedAt: first.enqueuedAt,
    endedAt: last.recordedAt,
    cancelledAt: isCancelled ? last.recordedAt : null,
    cancelMessage: isCancelled ? (last.error?.message ?? '') : null,
    // The row that ended an execution which did not run is no attempt.
    attempts: isSkipped || (isCancelled && last.workerId === null) ? rows.slice(0, -1) : rows,
    calls,
  }
}

/** Whether its schedule made it, and not somebody by hand. */
export function isOfSlot({ kind }: RecordedExecution): boolean {
  return kind === 'slot'
}

/** Whether the limits of its tenant may delay its executions. */
export function isTierLimited({ evidence }: Pick<Context, 'evidence'>, { job }: CheckedJob): boolean {
  const { executionsPerMinute = null, concurrentExecutionsMax = null } =
    evidence.store.tierOf(job.tenantId) ?? {}
  return executionsPerMinute !== null || concurrentExecutionsMax !== null
}

/** When a slot was to fire: by the jitter of its time. */
export function dueOf({ job, reigns }: CheckedJob, slot: EpochMs): EpochMs {
  const reign = reigns.find(({ from, to }) => slot > from && slot <= to)
  return reign === undefined ? slot : dueAtOf(job.versions.get(reign.versionMin)!, slot)
}

/** A new schedule has the slots strictly after the edit; a deleted job has none after it was deleted. */
function reignsOf(
  { versions, createdAt, jobId }: JobRow,
  changes: readonly Change[],
  untilAt: EpochMs,
): Reign[] {
  const { schedule, anchorAt } = versions.get(1)!
  const compiled = compileStored({ schedule, anchorAt, jobId })
  // A job that runs once may be created after its slot.
  const isOnce = compiled?.kind === 'once'
  const reigns: Reign[] = []
  let reign: Reign = {
    from: isOnce ? (-1 as EpochMs) : createdAt,
    to: untilAt,
    versionMin: 1,
    versionMax: 1,
    endsCompleted: false,
  }
  for (const { kind, at, version, before } of changes) {
    if (kind === 'edit') reign.versionMax = version
    else if (kind === 'delete') reign = { ...reign, to: at, endsCompleted: before === 'COMPLETED' }
    else if (kind === 'reschedule') {
      reigns.push({ ...reign, to: at, endsCompleted: before === 'COMPLETED' })
      reign = { from: at, to: untilAt, versionMin: version, versionMax: version, endsCompleted: false }
    }
  }
  return [...reigns, reign]
}

/** Every slot of each schedule in its time, up to where it has run as often as it may. */
function withinRuns(job: JobRow, reigns: readonly Reign[]): EpochMs[] {
  let runs = 0
  let wasCounted = false
  return reigns.flatMap((reign) => {
    const { max_runs: max } = job.versions.get(reign.versionMin)!.schedule
    // Runs are counted from when a schedule has a limit of them.
    if (!wasCounted) runs = 0
    wasCounted = max !== undefined
    if (max === undefined) return slotsOf(job, reign)
    return slotsOf(job, reign).filter((slot) => {
      const isLeft = runs < max
      if (isLeft && (job.slots.get(slot)?.reason === null || wasOwed(job, reign, slot))) runs += 1
      return isLeft
    })
  })
}

/**
 * An owed slot counts as a run, so its job may be COMPLETED before it has run. A change of such a job records the owed slot
 * as skipped, and no later one: the schedule had used up its runs.
 */
function wasOwed({ skips }: JobRow, { endsCompleted }: Reign, slot: EpochMs): boolean {
  if (!endsCompleted) return false
  return skips.some(
    ({ from, to, reason }) => (reason === 'edited' || reason === 'deleted') && from <= slot && slot <= to,
  )
}

function slotsOf({ versions, jobId }: JobRow, { from, to, versionMin }: Reign): EpochMs[] {
  const { schedule: given, anchorAt, dependsOn } = versions.get(versionMin)!
  if (dependsOn.length > 0) return []
  const schedule = compileStored({ schedule: given, anchorAt, jobId })
  if (schedule === null) throw new Error(`the schedule of ${jobId} does not compile`)
  const slots: EpochMs[] = []
  let next = (from + 1) as EpochMs
  while (true) {
    const some = slotsBetween(schedule, { from: next, to: (to + 1) as EpochMs })
    slots.push(...some)
    if (some.length < slotsBetweenMax) return slots
    next = (some.at(-1)! + 1) as EpochMs
  }
}

/** By server and minute, so that a look is cheap. */
function createFaultIndex({ faults, databaseAt }: Evidence, methods: RegExp): Context['wasFaulty'] {
  const minuteOf = (at: number) => Math.floor(at / 60_000)
  const byMinute = new Map<string, Fault[]>()
  const add = (server: string | null, fault: Fault) => {
    const last = minuteOf(databaseAt(fault.toMs))
    for (let minute = minuteOf(databaseAt(fault.fromMs)); minute <= last; minute++) {
      const key = `${server} ${minute}`
      const listed = byMinute.get(key)
      if (listed === undefined) byMinute.set(key, [fault])
      else listed.push(fault)
    }
  }
  for (const fault of faults) {
    if (fault.method !== null && !methods.test(fault.method)) continue
    add(fault.server, fault)
    if (fault.server !== null) add('any', fault)
  }
  return (server, from, to) => {
    const overlaps = ({ fromMs, toMs }: Fault) => databaseAt(fromMs) <= to && databaseAt(toMs) >= from
    for (let minute = minuteOf(from); minute <= minuteOf(to); minute++) {
      if (byMinute.get(`${null} ${minute}`)?.some(overlaps)) return true
      if (byMinute.get(`${server ?? 'any'} ${minute}`)?.some(overlaps)) return true
    }
    return false
  }
}
