// People who change jobs all day: edits, pauses, resumes and deletes, most of them within milliseconds of a slot. What
// they did is noted, so that the checker can compute by itself which slots there should have been.
import { executionIdAt } from '../../src/domain/execution.ts'
import type { JobStatus, JobVersion } from '../../src/domain/job.ts'
import {
  deleteJob,
  editJob,
  isSameSchedule,
  type JobState,
  type JobWrite,
  pauseJob,
  resumeJob,
} from '../../src/domain/job-change.ts'
import { compileSchedule } from '../../src/domain/schedule/compile-schedule.ts'
import { nextSlot } from '../../src/domain/schedule/next-run.ts'
import { type EpochMs, epochMs } from '../../src/lib/epoch.ts'
import type { Random } from '../../src/ports/random.ts'
import { isRunning, type UnderWay, unendedOf } from '../../src/store/memory/cancel.ts'
import type { JobRow } from '../../src/store/memory/rows.ts'
import { versionAfter } from '../conformance/changes.ts'
import { drawMs, drawWaitMs } from './faults.ts'
import type { Simulation } from './world.ts'

export interface ChangeOptions {
  /** Nothing is changed later; whatever is paused then is resumed. */
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
  /** Of a delete that cancels what runs, or a cancel: the executions that ran. */
  running: readonly string[]
}

/** How far from a slot a change is made when it is aimed at one, in ms. */
const aimMs = { before: 4, after: 30 }
/** Older slots would be misfired. */
const asOfMsMax = 30_000
const pauseMsMax = 300_000
/** Of all changes, so many are of one execution. */
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

  constructor(sim: Simulation, random: Random, options: ChangeOptions) {
    this.#sim = sim
    this.#random = random
    this.#options = options
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

  /** One execution that has not ended, of any job; half of them run. */
  cancelOne(): void {
    const { control } = this.#sim.tables
    const isWanted = this.#random.next() < 0.5 ? runningOf : pendingOf
    const jobs = this.#jobs().filter((job) => isWanted(job).length > 0)
    const job = jobs[Math.floor(this.#random.next() * jobs.length)]
    if (job === undefined) return
    const [executionId] = isWanted(job)
    const [pending, running] = [pendingOf, runningOf].map((of) => of(job).filter((id) => id === executionId))
    const { tenantId, jobId } = job
    const { status, version } = job.cursor
    const at = this.#sim.world.clock.databaseNow()
    void control.cancel({ tenantId, executionId: executionId!, message: 'Cancelled by somebody.' })
    const same = { asOf: null, before: status, after: status, version }
    this.#sim.changes.push({ kind: 'cancel', jobId, at, ...same, pending: pending!, running: running! })
  }

  resumeAll(): void {
    for (const job of this.#jobs()) if (job.cursor.status === 'PAUSED') this.#change(job, 'resume')
  }

  /** Those of graphs are changed by others: see `graph-deeds.ts`. */
  #jobs(): JobRow[] {
    const { tables, graphs } = this.#sim
    return [...tables.store.jobs.values()].filter(({ jobId }) => !graphs.has(jobId))
  }

  #aim({ jobId, versions, version }: JobRow): number | null {
    const { schedule, anchorAt } = versions.get(version)!
    const compiled = compileSchedule(schedule, { createdAt: anchorAt, jobId })
    const now = this.#sim.world.clock.databaseNow()
    const from = epochMs(now + aimMs.before + this.#random.next() * 30_000)
    const slot = compiled.ok ? nextSlot(compiled.value.compiled, from) : null
    if (slot === null || slot > now + 600_000 || this.#random.next() < 0.2) return null
    return slot - now + drawMs(this.#random, -aimMs.before, aimMs.after)
  }

  #draw(job: JobRow): ChangeKind {
    const { cursor } = job
    // Half of them meet executions that wait, the others mostly a slot that is being fired.
    const isWaiting = pendingOf(job).length > 0
    const shareMax = isWaiting ? deletedShareMax / 2 : deletedShareMax
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
    // What was aimed behind the end comes too late, but for the end of a pause.
    if (this.#sim.nowMs >= this.#options.untilMs && drawn !== 'resume') return
    const { tenantId, jobId } = job
    const before = job.cursor.status
    const cancelRunning = drawn === 'delete' && this.#random.next() < 0.5
    const pending = drawn === 'delete' ? pendingOf(job) : []
    const running = cancelRunning ? runningOf(job) : []
    let kind = drawn
    let asOf: EpochMs | null = null
    let isMade = false
    const decide = (state: JobState): JobWrite | null => {
      if (kind === 'resume' && this.#random.next() < 0.3)
        asOf = epochMs(state.now - this.#random.next() * asOfMsMax)
      const write = this.#decide(state, kind, { asOf, cancelRunning })
      if (typeof write === 'string' || write === null) return null
      if (write.version !== null) kind = isSameSchedule(state, write.version) ? 'edit' : 'reschedule'
      isMade = true
      return write
    }
    // In memory it is made at once; the promise only says so later.
    void this.#sim.tables.jobs.change({ tenantId, jobId }, decide)
    if (!isMade) return
    const { status: after, version } = job.cursor
    const at = this.#sim.world.clock.databaseNow()
    this.#sim.changes.push({ kind, jobId, at, asOf, before, after, version, pending, running })
    if (kind !== 'pause') return
    // Half of them are over before the next slot, or just behind it.
    const msMax = this.#random.next() < 0.5 ? 2_000 : pauseMsMax
    const waitMs = this.#aim(job) ?? drawMs(this.#random, 1, msMax)
    this.#sim.world.timers.schedule(waitMs, () => this.#change(job, 'resume'))
  }

  #decide(
    state: JobState,
    kind: ChangeKind,
    { asOf, cancelRunning }: { asOf: EpochMs | null; cancelRunning: boolean },
  ) {
    if (state.status === 'DELETED') return null
    const by = 'somebody'
    if (kind === 'delete') return deleteJob(state, { by, cancelRunning })
    if (kind === 'pause') return pauseJob(state, { by, reason: null, until: null })
    if (kind === 'resume') return resumeJob(state, { by, at: asOf })
    const edited = { ...versionAfter(state), description: `edited at ${state.now}` }
    if (kind === 'edit') return editJob(state, { by, key: null, version: edited })
    const schedule = this.#options.drawSchedule()
    if (schedule === null) return null
    // The new one may be denser than the jitter of the old one.
    const version = { ...edited, schedule, anchorAt: state.now, jitterSeconds: 0 }
    return editJob(state, { by, key: null, version })
  }
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
  return one.place === 'batch' ? executionIdAt(one.batch.batchId, one.entry.position) : one.row.executionId
}
