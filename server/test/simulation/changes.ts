// People that change jobs all day: edits, pauses, resumes and deletes, most of them within milliseconds of a slot. Each
// change is recorded, so that the checker can compute independently which slots there should have been.

import { spellOut } from '../../src/domain/jobs/clock-rule.ts'
import type { JobStatus, JobVersion } from '../../src/domain/jobs/job.ts'
import {
  deleteJob,
  editJob,
  isSameSchedule,
  type JobState,
  type JobWrite,
  pauseJob,
  resumeJob,
} from '../../src/domain/jobs/job-change.ts'
import { executionIdAt } from '../../src/domain/queue/execution.ts'
import { compileStored } from '../../src/domain/schedule/compile-schedule.ts'
import { nextSlot } from '../../src/domain/schedule/next-run.ts'
import { type EpochMs, epochMs } from '../../src/lib/time/epoch.ts'
import type { Jobs } from '../../src/ports/jobs.ts'
import type { Random } from '../../src/ports/random.ts'
import { isRunning, type UnderWay, unendedOf } from '../../testing/memory-store/cancel.ts'
import type { JobRow } from '../../testing/memory-store/rows.ts'
import { versionAfter } from '../conformance/jobs/changes.ts'
import { drawMs, drawWaitMs } from './faults.ts'
import type { Simulation } from './world.ts'

export interface ChangeOptions {
  /** Nothing is changed later; every job paused by then is resumed. */
  untilMs: number
  /** Mean time between two changes. */
  everyMs: number
  /** Null: it drew one that the API would refuse. */
  drawSchedule: () => JobVersion['schedule'] | null
}

export const CHANGE_KINDS = ['edit', 'reschedule', 'pause', 'resume', 'delete', 'cancel'] as const
export type ChangeKind = (typeof CHANGE_KINDS)[number]

/** One change that was made, as the API would answer it. */
export interface Change {
  kind: ChangeKind
  jobId: string
  at: EpochMs
  /** A resume as of a moment in the past; null: not so. */
  asOf: EpochMs | null
  before: JobStatus
  after: JobStatus
  /** The version that is in force from now on. */
  version: number
  /** Of a delete: the executions that had not begun. Of a cancel: the one that was meant, if it had not. */
  pending: readonly string[]
  /** For a delete that cancels running executions, or a cancel: the executions that ran. */
  running: readonly string[]
}

/** How far from a slot a change is made when it is aimed at one, in ms. */
const aimMs = { before: 4, after: 30 }
/** Older slots would be misfired. */
const asOfMsMax = 30_000
const pauseMsMax = 300_000
/** A cancel comes so much later than somebody decided on it. */
const cancelWaitMsMax = 400
/** Of all pauses, so many end by themselves. */
const untilShare = 0.3
/** Share of changes that concern a single execution. */
const cancelShare = 0.1
/** Of all jobs, at most so many are deleted. */
const deletedShareMax = 0.3

export function startChanges(sim: Simulation, options: ChangeOptions): void {
  const { untilMs, everyMs } = options
  const random = sim.randomOf('changes')
  const changer = new Changer(sim, random, options)
  const next = () => {
    sim.world.timers.schedule(drawWaitMs(random, everyMs), () => {
      if (sim.nowMs >= untilMs) return
      if (random.next() < cancelShare) changer.cancelOne()
      else changer.changeOne()
      next()
    })
  }
  next()
  sim.world.timers.schedule(untilMs, () => changer.resumeAll())
}

class Changer {
  readonly #sim: Simulation
  readonly #random: Random
  readonly #options: ChangeOptions

  /** The unwrapped function, which does not record the changes made by servers. */
  readonly #makeChange: Jobs['change']

  constructor(sim: Simulation, random: Random, options: ChangeOptions) {
    this.#sim = sim
    this.#random = random
    this.#options = options
    const { jobs } = sim.tables
    this.#makeChange = jobs.change.bind(jobs)
    this.#noteResumes()
  }

  /** Records the resumes that a server makes at the end of a timed pause: they are changes too. */
  #noteResumes(): void {
    const { jobs, store } = this.#sim.tables
    jobs.change = (target, decide) => {
      const job = store.jobs.get(target.jobId)
      const before = job?.cursor.status
      const until = job?.pause?.until ?? null
      const outcome = this.#makeChange(target, decide)
      if (job !== undefined && before === 'PAUSED' && job.cursor.status !== before && until !== null) {
        const { jobId, cursor } = job
        const facts = { at: store.now(), asOf: until, before, after: cursor.status, version: cursor.version }
        this.#sim.changes.push({ kind: 'resume', jobId, ...facts, pending: [], running: [] })
        this.#sim.meet('resumed by itself')
      }
      return outcome
    }
  }

  /** One job, near one of its slots if one comes soon, else now. */
  changeOne(): void {
    const jobs = this.#jobs().filter(({ cursor }) => cursor.status !== 'DELETED')
    const job = jobs[Math.floor(this.#random.next() * jobs.length)]
    if (job === undefined) return
    const waitMs = this.#aim(job)
    if (waitMs === null) this.#change(job, this.#draw(job))
    else this.#sim.world.timers.schedule(waitMs, () => this.#change(job, this.#draw(job)))
  }

  /** One execution that has not ended, of any job; half of them run. It may end before we come to it. */
  cancelOne(): void {
    const isWanted = this.#random.next() < 0.5 ? runningOf : pendingOf
    const jobs = this.#jobs().filter((job) => isWanted(job).length > 0)
    const job = jobs[Math.floor(this.#random.next() * jobs.length)]
    if (job === undefined) return
    const [executionId] = isWanted(job)
    const waitMs = this.#random.next() < 0.5 ? 0 : drawMs(this.#random, 1, cancelWaitMsMax)
    this.#sim.world.timers.schedule(waitMs, () => this.#cancel(job, executionId!))
  }

  #cancel(job: JobRow, executionId: string): void {
    const { control } = this.#sim.tables
    const [pending, running] = [pendingOf, runningOf].map((of) => of(job).filter((id) => id === executionId))
    const { tenantId, jobId } = job
    const { status, version } = job.cursor
    const at = this.#sim.world.clock.databaseNow()
    const cancel = () => control.cancel({ tenantId, executionId, message: 'Cancelled by somebody.' })
    void cancel().then((outcome) => {
      if (outcome.kind === 'cancelling') this.#sim.meet('cancel won')
      if (outcome.kind === 'finished' && outcome.status === 'SUCCEEDED')
        this.#sim.meet('success won over a cancel')
    })
    // Sent twice: to cancel it again changes nothing.
    if (this.#random.next() < 0.3) this.#sim.world.timers.schedule(drawMs(this.#random, 0, 50), cancel)
    const same = { asOf: null, before: status, after: status, version }
    this.#sim.changes.push({ kind: 'cancel', jobId, at, ...same, pending: pending!, running: running! })
  }

  resumeAll(): void {
    for (const job of this.#jobs()) if (job.cursor.status === 'PAUSED') this.#change(job, 'resume')
  }

  /** Jobs outside graphs; jobs of graphs are changed elsewhere: see `graph-deeds.ts`. */
  #jobs(): JobRow[] {
    const { tables, graphs } = this.#sim
    return [...tables.store.jobs.values()].filter(({ jobId }) => !graphs.has(jobId))
  }

  /** Half of them on the very instant of a slot, a ms before or after it. */
  #aim(job: JobRow): number | null {
    const fromMs = aimMs.before + this.#random.next() * 30_000
    const waitMs = msToSlot(this.#sim, job, fromMs)
    if (waitMs === null || waitMs > 600_000 || this.#random.next() < 0.2) return null
    const isExact = this.#random.next() < 0.5
    return waitMs + (isExact ? drawMs(this.#random, -1, 1) : drawMs(this.#random, -aimMs.before, aimMs.after))
  }

  #draw(job: JobRow): ChangeKind {
    const { cursor } = job
    // Half of them meet executions that wait, the others mostly a slot that is being fired.
    const isWaiting = pendingOf(job).length > 0
    const shareMax = isWaiting ? deletedShareMax : deletedShareMax / 2
    const chance = isWaiting ? 0.5 : 0.05
    if (this.#random.next() < chance && this.#deletedShare() < shareMax) return 'delete'
    const luck = this.#random.next()
    if (cursor.status === 'COMPLETED') return luck < 0.5 ? 'reschedule' : 'edit'
    if (cursor.status === 'PAUSED') return luck < 0.2 ? 'edit' : luck < 0.4 ? 'reschedule' : 'resume'
    return luck < 0.25 ? 'edit' : luck < 0.45 ? 'reschedule' : 'pause'
  }

  #deletedShare(): number {
    const jobs = this.#jobs()
    return jobs.filter(({ cursor }) => cursor.status === 'DELETED').length / jobs.length
  }

  #change(job: JobRow, drawn: ChangeKind): void {
    // A change planned for after the end comes too late, unless it ends a pause.
    if (this.#sim.nowMs >= this.#options.untilMs && drawn !== 'resume') return
    const { tenantId, jobId } = job
    const before = job.cursor.status
    const cancelRunning = drawn === 'delete' && this.#random.next() < 0.5
    const pending = drawn === 'delete' ? pendingOf(job) : []
    const running = cancelRunning ? runningOf(job) : []
    let kind = drawn
    let asOf: EpochMs | null = null
    let isMade = false
    // Half of them are over before the next slot, or just behind it.
    const msMax = this.#random.next() < 0.5 ? 2_000 : pauseMsMax
    const pausedMs = drawn === 'pause' ? (this.#aim(job) ?? drawMs(this.#random, 1, msMax)) : 0
    const isTimed = drawn === 'pause' && this.#random.next() < untilShare
    const until = isTimed ? epochMs(this.#sim.world.clock.databaseNow() + pausedMs) : null
    const decide = (state: JobState): JobWrite | null => {
      if (kind === 'resume' && this.#random.next() < 0.3)
        asOf = epochMs(state.now - this.#random.next() * asOfMsMax)
      const write = this.#decide(state, kind, { asOf, cancelRunning, until })
      if (typeof write === 'string' || write === null) return null
      if (write.version !== null) kind = isSameSchedule(state, write.version) ? 'edit' : 'reschedule'
      isMade = true
      return write
    }
    // In memory it is made at once; the promise only says so later.
    void this.#makeChange({ tenantId, jobId }, decide)
    if (!isMade) return
    const { status: after, version } = job.cursor
    const at = this.#sim.world.clock.databaseNow()
    this.#sim.changes.push({ kind, jobId, at, asOf, before, after, version, pending, running })
    if (kind === 'pause' && !isTimed)
      this.#sim.world.timers.schedule(pausedMs, () => this.#change(job, 'resume'))
  }

  #decide(
    state: JobState,
    kind: ChangeKind,
    { asOf, cancelRunning, until }: { asOf: EpochMs | null; cancelRunning: boolean; until: EpochMs | null },
  ) {
    if (state.status === 'DELETED') return null
    const by = 'somebody'
    if (kind === 'delete') return deleteJob(state, { by, cancelRunning })
    if (kind === 'pause') return pauseJob(state, { by, reason: null, until })
    if (kind === 'resume') return resumeJob(state, { by, at: asOf })
    const edited = { ...versionAfter(state), description: `edited at ${state.now}` }
    if (kind === 'edit') return editJob(state, { by, key: null, version: edited })
    const schedule = this.#options.drawSchedule()
    if (schedule === null) return null
    // The new one may be denser than the jitter of the old one.
    const version = { ...edited, ...spellOut(schedule, state.jobId), anchorAt: state.now, jitterSeconds: 0 }
    return editJob(state, { by, key: null, version })
  }
}

/** How long it is until the first slot of a job that is `fromMs` away or more; null: there is none. */
export function msToSlot(
  { world }: Simulation,
  { jobId, versions, version }: JobRow,
  fromMs = 0,
): number | null {
  const { schedule, anchorAt } = versions.get(version)!
  const compiled = compileStored({ schedule, anchorAt, jobId })
  const now = world.clock.databaseNow()
  const slot = compiled === null ? null : nextSlot(compiled, epochMs(now + fromMs))
  return slot === null ? null : slot - now
}

function pendingOf(job: JobRow): string[] {
  return unendedOf(job)
    .filter((one) => !isRunning(one))
    .map(idOf)
}

function runningOf(job: JobRow): string[] {
  return unendedOf(job).filter(isRunning).map(idOf)
}

function idOf(one: UnderWay): string {
  return one.kind === 'batch' ? executionIdAt(one.batch.batchId, one.entry.position) : one.row.executionId
}
