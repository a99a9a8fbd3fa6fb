// The independent checker: reads what the store recorded and what the targets saw, computes by itself which slots
// there should have been, and says what does not fit. It knows nothing of how the stages work. The numbers of the
// invariants are those of the reliability reference (docs/guarantees.md says them in words).
import { SKIP_REASONS } from '../../src/domain/execution.ts'
import type { JobVersion } from '../../src/domain/job.ts'
import { compileSchedule } from '../../src/domain/schedule/compile-schedule.ts'
import { dueAtOf } from '../../src/domain/schedule/jitter.ts'
import { slotsBetween, slotsBetweenMax } from '../../src/domain/schedule/next-run.ts'
import { type EpochMs, epochMs } from '../../src/lib/epoch.ts'
import type { AttemptRow, JobRow } from '../../src/store/memory/rows.ts'
import type { MemoryStore } from '../../src/store/memory/store.ts'
import type { VirtualHttp } from '../virtual-world.ts'
import type { Word } from './async-targets.ts'
import type { Change } from './changes.ts'
import { checkAttempts } from './check-attempts.ts'
import { checkCalls } from './check-calls.ts'
import { checkChanges, isHeldBack, isSuperseded } from './check-changes.ts'
import { checkLimits } from './check-limits.ts'
import { checkOverlap } from './check-overlap.ts'
import { checkSlots } from './check-slots.ts'
import { checkWords } from './check-words.ts'
import type { Fault } from './faults.ts'

export interface Evidence {
  store: MemoryStore
  sent: VirtualHttp['sent']
  /** Who made each call of `sent`. */
  senders: readonly string[]
  faults: readonly Fault[]
  changes: readonly Change[]
  /** What targets said later. */
  words: readonly Word[]
  /** The instant of ms 0 of `sent` and `faults`. */
  startAt: number
  /** No slot lies later. */
  untilAt: number
  /** What targets ask for with 429. */
  retryAfterMs: number
}

export interface Violation {
  /** Such as I1. */
  invariant: string
  what: string
}

/** One call that a target saw. */
export interface Call {
  at: EpochMs
  attempt: number
  server: string
  headers: Readonly<Record<string, string>>
}

/** One execution as it is on record. */
export interface RecordedExecution {
  executionId: string
  slot: EpochMs
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
  /** Those that ended, by slot. */
  executions: readonly RecordedExecution[]
}

/** The time in which one schedule was in force: it has the slots after `from` up to `to`. */
export interface Reign {
  from: EpochMs
  to: EpochMs
  /** The versions with this schedule. */
  versionMin: number
  versionMax: number
}

export interface Context {
  evidence: Evidence
  /** Nothing went wrong: nothing may be late or skipped for no reason. */
  plain: boolean
  say: (invariant: string, what: string) => void
  /** What the target of an execution said of its attempts. */
  wordsOf: (executionId: string) => readonly Word[]
  /** Whether something went wrong, for this server or for all, between two instants. */
  wasFaulty: (server: string | null, from: number, to: number) => boolean
}

export interface Verdict {
  violations: Violation[]
  /** What happened how often: a simulation that meets nothing proves nothing. */
  seen: Record<string, number>
}

export function checkAll(evidence: Evidence): Verdict {
  const violations: Violation[] = []
  const words = Map.groupBy(evidence.words, ({ executionId }) => executionId)
  const context: Context = {
    evidence,
    plain: evidence.faults.length === 0,
    say: (invariant, what) => void violations.push({ invariant, what }),
    wordsOf: (executionId) => words.get(executionId) ?? [],
    wasFaulty: createFaultIndex(evidence),
  }
  const jobs = gather(evidence)
  for (const job of jobs) {
    checkSlots(context, job)
    checkChanges(context, job)
    checkAttempts(context, job)
    checkCalls(context, job)
    checkOverlap(context, job)
    checkWords(context, job)
  }
  checkLeftovers(context, jobs)
  checkLimits(context, jobs)
  return { violations, seen: countSeen(context, jobs) }
}

function gather(evidence: Evidence): CheckedJob[] {
  const calls = Map.groupBy(
    evidence.sent.map(({ at, request }, index): Call => {
      const attempt = Number(request.headers['x-attempt-number'])
      const server = evidence.senders[index]!
      return { at: epochMs(evidence.startAt + at), attempt, server, headers: request.headers }
    }),
    ({ headers }) => headers['x-execution-id']!,
  )
  const changes = Map.groupBy(evidence.changes, ({ jobId }) => jobId)
  return [...evidence.store.jobs.values()].map((job) => {
    const executions = [...job.ended].map((executionId) => {
      return recordedOf(evidence.store.log.of(executionId), calls.get(executionId) ?? [])
    })
    executions.sort((a, b) => a.slot - b.slot)
    const own = changes.get(job.jobId) ?? []
    const reigns = reignsOf(job, own, evidence.untilAt as EpochMs)
    const expected = withinRuns(job, reigns)
    return { job, version: job.versions.get(1)!, expected, reigns, changes: own, executions }
  })
}

function recordedOf(rows: readonly AttemptRow[], calls: readonly Call[]): RecordedExecution {
  const [first, last] = [rows[0]!, rows.at(-1)!]
  const isCancelled = last.outcome === 'cancelled'
  return {
    executionId: first.executionId,
    slot: first.slot,
    version: first.version,
    firedAt: first.enqueuedAt,
    endedAt: last.recordedAt,
    cancelledAt: isCancelled ? last.recordedAt : null,
    cancelMessage: isCancelled ? (last.error?.message ?? '') : null,
    // What ended an execution that did not run is no attempt.
    attempts: isCancelled && last.workerId === null ? rows.slice(0, -1) : rows,
    calls,
  }
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
  const compiled = compileSchedule(schedule, { createdAt: anchorAt, jobId })
  // A job that runs once may be created after its slot.
  const isOnce = compiled.ok && compiled.value.compiled.kind === 'once'
  const reigns: Reign[] = []
  let reign: Reign = {
    from: isOnce ? (-1 as EpochMs) : createdAt,
    to: untilAt,
    versionMin: 1,
    versionMax: 1,
  }
  for (const { kind, at, version } of changes) {
    if (kind === 'edit') reign.versionMax = version
    else if (kind === 'delete') reign.to = at
    else if (kind === 'reschedule') {
      reigns.push({ ...reign, to: at })
      reign = { from: at, to: untilAt, versionMin: version, versionMax: version }
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
      if (isLeft && job.slots.get(slot)?.reason === null) runs += 1
      return isLeft
    })
  })
}

function slotsOf({ versions, jobId }: JobRow, { from, to, versionMin }: Reign): EpochMs[] {
  const { schedule: given, anchorAt } = versions.get(versionMin)!
  const compiled = compileSchedule(given, { createdAt: anchorAt, jobId })
  if (!compiled.ok) throw new Error(`the schedule of ${jobId} does not compile`)
  const schedule = compiled.value.compiled
  const slots: EpochMs[] = []
  let next = (from + 1) as EpochMs
  while (true) {
    const some = slotsBetween(schedule, { from: next, to: (to + 1) as EpochMs })
    slots.push(...some)
    if (some.length < slotsBetweenMax) return slots
    next = (some.at(-1)! + 1) as EpochMs
  }
}

// What is left when all has ended: nothing under way, no call nobody knows of, no letter without a death.
function checkLeftovers({ evidence, say }: Context, jobs: readonly CheckedJob[]): void {
  const { store, sent } = evidence
  for (const { executionId, state, workerId } of store.live.values()) {
    say('I14', `execution ${executionId} is still ${state}, held by ${workerId ?? 'nobody'}`)
  }
  for (const { batchId, entries, workerId } of store.batches.values()) {
    say('I14', `batch ${batchId} with ${entries.length} executions is still held by ${workerId ?? 'nobody'}`)
  }
  for (const { jobId, owed, cursor } of store.jobs.values()) {
    if (owed !== null) say('I14', `job ${jobId} still owes slots from ${owed.from}`)
    if (cursor.status !== 'COMPLETED' && cursor.status !== 'DELETED')
      say('I14', `job ${jobId} still waits for its slot ${cursor.slotAt}`)
  }
  const known = new Map(
    jobs.flatMap(({ executions }) => executions.map((one) => [one.executionId, one] as const)),
  )
  const strangers = new Set(sent.map(({ request }) => request.headers['x-execution-id']!))
  for (const executionId of strangers) {
    if (!known.has(executionId)) say('I2', `${executionId} was called and is on no record`)
  }
  for (const executionId of store.deadLetters.keys()) {
    const last = known.get(executionId)?.attempts.at(-1)
    if (last === undefined || last.outcome === 'succeeded') say('I18', `a dead letter for ${executionId}`)
  }
}

/** By server and minute, so that a look is cheap. */
function createFaultIndex({ faults, startAt }: Evidence): Context['wasFaulty'] {
  const minuteOf = (at: number) => Math.floor(at / 60_000)
  const byMinute = new Map<string, Fault[]>()
  const add = (server: string | null, fault: Fault) => {
    for (let minute = minuteOf(startAt + fault.fromMs); minute <= minuteOf(startAt + fault.toMs); minute++) {
      const key = `${server} ${minute}`
      const listed = byMinute.get(key)
      if (listed === undefined) byMinute.set(key, [fault])
      else listed.push(fault)
    }
  }
  for (const fault of faults) {
    // A failed call of another loop explains nothing about executions and slots.
    if (fault.method !== null && !/^(queue|leases|slots|attempts)\./.test(fault.method)) continue
    add(fault.server, fault)
    if (fault.server !== null) add('any', fault)
  }
  return (server, from, to) => {
    const overlaps = ({ fromMs, toMs }: Fault) => startAt + fromMs <= to && startAt + toMs >= from
    for (let minute = minuteOf(from); minute <= minuteOf(to); minute++) {
      if (byMinute.get(`${null} ${minute}`)?.some(overlaps)) return true
      if (byMinute.get(`${server ?? 'any'} ${minute}`)?.some(overlaps)) return true
    }
    return false
  }
}

function countSeen({ evidence }: Context, jobs: readonly CheckedJob[]): Record<string, number> {
  const { store, sent, faults } = evidence
  const seen: Record<string, number> = {
    executions: store.log.ended,
    calls: sent.length,
    attempts: 0,
    lost: store.log.counts.lost,
    cancelled: store.log.counts.cancelled,
    ...Object.fromEntries(SKIP_REASONS.map((reason) => [reason, 0])),
    superseded: 0,
    /** From when a slot was due to its fire, but for those that a resume made late. */
    lateMsMax: 0,
  }
  for (const { job } of jobs) for (const { reason, count } of job.skips) seen[reason]! += count
  for (const checked of jobs) {
    const onTime = checked.executions.filter(({ slot }) => !isHeldBack(checked, slot))
    const lateMs = onTime.map(({ slot, firedAt }) => firedAt - dueOf(checked, slot))
    seen['attempts']! += checked.executions.flatMap(({ attempts }) => attempts.filter(wasStarted)).length
    seen['superseded']! += checked.executions.filter(isSuperseded).length
    seen['lateMsMax'] = lateMs.reduce((a, b) => Math.max(a, b), seen['lateMsMax']!)
  }
  for (const { reason } of store.deadLetters.values()) seen[reason] = (seen[reason] ?? 0) + 1
  for (const { kind } of faults) seen[kind] = (seen[kind] ?? 0) + 1
  for (const { answer } of evidence.words) seen[`word ${answer}`] = (seen[`word ${answer}`] ?? 0) + 1
  for (const { kind } of evidence.changes) seen[`job ${kind}`] = (seen[`job ${kind}`] ?? 0) + 1
  return seen
}

/** What was cancelled before its call began is an attempt without one. */
function wasStarted({ outcome, startedAt }: AttemptRow): boolean {
  return outcome !== 'cancelled' || startedAt !== null
}
