// createTestKit: runs jobs made by defineJob on a clock of its own, without a server. Slots come from the server's own
// schedule engine, attempts and retries from its own rules, handlers from the same code as in a worker.
import { createHash, randomUUID } from 'node:crypto'
import { slotAfterEnd } from '../../server/src/domain/schedule/after-completion.ts'
import { compileSchedule, type ScheduleAnswer } from '../../server/src/domain/schedule/compile-schedule.ts'
import { dueAtOf } from '../../server/src/domain/schedule/jitter.ts'
import { isExcluded, nextRun, nextSlot } from '../../server/src/domain/schedule/next-run.ts'
import { type EpochMs, epochMs } from '../../server/src/lib/time/epoch.ts'
import type { AnyJob, JobParent, JobReservation } from './define-job.ts'
import { hasDependencies, orderJobs } from './dependencies.ts'
import { type Duration, durationMs } from './duration.ts'
import { toSchedule } from './job-request.ts'
import { checkOptionNames, type OptionNames } from './known-options.ts'
import { asParentResult, type GraphMember, Graphs } from './test-kit-graphs.ts'
import { currentAttempt, Execution, wait } from './test-kit-run.ts'
import type { TestRun } from './test-run.ts'
import { VirtualTime } from './virtual-time.ts'

export type { RunStatus, TestAttempt, TestRun } from './test-run.ts'

export interface TestKitOptions {
  jobs: readonly AnyJob[]
  /** Where its clock begins. */
  now: Date | string | number
  /** The zone of schedules that name none. Default UTC. */
  timezone?: string
  /** The entries of the calendars that schedules name. Default: all are empty. */
  calendars?: Readonly<Record<string, readonly ({ date: string } | { from: string; to: string })[]>>
  /** Real time that a handler may take without waiting for the clock of the kit. Default 10,000. */
  realMs?: number
}

/** A parent that a job is to have run after. */
export interface TestParent {
  job: AnyJob | string
  /** Default SUCCEEDED. */
  status?: 'SUCCEEDED' | 'FAILED' | 'TIMED_OUT'
  /** Its return value. */
  result?: unknown
}

export interface TestKit {
  readonly now: Date
  /** Lets time pass; everything due meanwhile runs. Resolves with the executions that ended or were skipped. */
  advance(duration: Duration): Promise<TestRun[]>
  advanceTo(instant: Date | string | number): Promise<TestRun[]>
  /**
   * Runs a job now and, if it is the root of a graph, the jobs that run after it. A job with dependencies runs alone,
   * with the given parents. Resolves when all of it has ended, or waits for the clock, or for its turn.
   */
  trigger<Input>(
    job: JobReservation<Input> | string,
    payload?: Input,
    options?: { parents?: readonly TestParent[] },
  ): Promise<TestRun>
  cancel(run: TestRun | string): Promise<void>
  /** Past and present executions, oldest first: for the given job, or for all. */
  runs(job?: AnyJob | string): readonly TestRun[]
  /** The next instants at which a job runs by its schedule. */
  next(job: AnyJob | string, count?: number): Date[]
  /** For handlers: waits on the clock of the kit. */
  sleep(duration: Duration, signal?: AbortSignal): Promise<void>
}

interface Entry extends GraphMember {
  schedule: ScheduleAnswer | null
  /** Slots that ran, for `max_runs`. */
  slotsRun: number
  /** Executions that wait for their turn. */
  waiting: Execution[]
}

const kitOptions: OptionNames<TestKitOptions> = {
  jobs: true,
  now: true,
  timezone: true,
  calendars: true,
  realMs: true,
}
const parentOptions: OptionNames<TestParent> = { job: true, status: true, result: true }
const bufferMax = 1_000
const runsMax = 100_000

export function createTestKit(options: TestKitOptions): TestKit {
  checkOptionNames('createTestKit', options, kitOptions)
  return new Kit(options)
}

class Kit implements TestKit {
  readonly #time: VirtualTime
  readonly #entries = new Map<string, Entry>()
  readonly #runs: Execution[] = []
  readonly #graphs: Graphs<Entry>
  readonly #calendars: TestKitOptions['calendars']

  constructor({ jobs, now, timezone, calendars, realMs = 10_000 }: TestKitOptions) {
    const nowMs = new Date(now).getTime()
    if (Number.isNaN(nowMs)) throw new TypeError(`now is ${JSON.stringify(now)}: it must be an instant.`)
    this.#time = new VirtualTime(nowMs, realMs)
    this.#calendars = calendars
    for (const job of jobs) {
      if (this.#entries.has(job.key)) throw new TypeError(`jobs has two with the key ${job.key}.`)
      const jobId = jobIdOf(job.key)
      const given = job.schedule === undefined ? null : this.#compile(job, jobId, timezone)
      // One that runs after others has no slots of its own.
      const schedule = hasDependencies(job) ? null : given
      this.#entries.set(job.key, { job, jobId, schedule, plannedMs: null, slotsRun: 0, waiting: [] })
    }
    orderJobs(jobs)
    this.#graphs = new Graphs({
      members: this.#entries,
      latestOf: (key) => this.#runs.findLast((run) => run.key === key && run.hasEnded && !isSkippedSlot(run)),
      make: (entry, { scheduledTime }) => this.#make(entry, 'dependency', scheduledTime, entry.job.payload),
      go: (entry, run) => this.#enqueue(entry, run),
      onOver: (roots) => this.#onRunOver(roots),
    })
    for (const entry of this.#entries.values()) {
      if (entry.schedule === null) continue
      // A job that runs once at once does so when time first passes.
      if (entry.schedule.definition.type === 'IMMEDIATE') this.#plan(entry, epochMs(nowMs))
      else this.#planAfter(entry, epochMs(nowMs))
    }
  }

  get now(): Date {
    return new Date(this.#time.nowMs)
  }

  advance(duration: Duration): Promise<TestRun[]> {
    return this.#advanceTo(this.#time.nowMs + durationMs(duration, 'duration'))
  }

  advanceTo(instant: Date | string | number): Promise<TestRun[]> {
    const untilMs = new Date(instant).getTime()
    if (!(untilMs >= this.#time.nowMs)) {
      throw new RangeError(`${String(instant)} does not lie after ${this.now.toISOString()}.`)
    }
    return this.#advanceTo(untilMs)
  }

  async #advanceTo(untilMs: number): Promise<TestRun[]> {
    const before = new Set(this.#runs.filter((run) => run.hasEnded))
    await this.#time.advanceTo(untilMs)
    return this.#runs.filter((run) => run.hasEnded && !before.has(run))
  }

  async trigger<Input>(
    job: JobReservation<Input> | string,
    payload?: Input,
    options: { parents?: readonly TestParent[] } = {},
  ): Promise<TestRun> {
    checkOptionNames('trigger', options, { parents: true })
    const { parents = [] } = options
    const entry = this.#entryOf(job)
    const given = payload === undefined ? entry.job.payload : payload
    const run = this.#make(entry, 'trigger', this.now, given)
    run.parents = parents.map(toJobParent)
    this.#graphs.start(run)
    this.#enqueue(entry, run)
    await this.#time.settle()
    return run
  }

  async cancel(run: TestRun | string): Promise<void> {
    const id = typeof run === 'string' ? run : run.executionId
    const found = this.#runs.find(({ executionId }) => executionId === id)
    if (found === undefined) throw new TypeError(`There is no execution ${id}.`)
    found.cancel()
    await this.#time.settle()
  }

  runs(job?: AnyJob | string): readonly TestRun[] {
    if (job === undefined) return [...this.#runs]
    const { key } = this.#entryOf(job).job
    return this.#runs.filter((run) => run.key === key)
  }

  next(job: AnyJob | string, count = 1): Date[] {
    const { schedule } = this.#entryOf(job)
    const found: Date[] = []
    let at: EpochMs | null = epochMs(this.#time.nowMs)
    while (schedule !== null && found.length < count) {
      at = nextRun(schedule.compiled, at)
      if (at === null) break
      found.push(new Date(at))
    }
    return found
  }

  sleep(duration: Duration, signal?: AbortSignal): Promise<void> {
    const ms = durationMs(duration, 'duration')
    return currentAttempt.getStore()?.sleep(ms, signal) ?? wait(this.#time, ms, signal)
  }

  #compile(job: AnyJob, jobId: string, timezone: string | undefined): ScheduleAnswer {
    const context = {
      createdAt: epochMs(this.#time.nowMs),
      jobId,
      ...(timezone !== undefined && { timezone }),
      ...(this.#calendars !== undefined && { calendars: this.#calendars }),
    }
    const answer = compileSchedule(toSchedule(job), context)
    if (!answer.ok) throw new TypeError(`schedule of ${job.key}: ${answer.error.message}`)
    return answer.value
  }

  #planAfter(entry: Entry, after: EpochMs): void {
    const slot = nextSlot(entry.schedule!.compiled, after)
    if (slot !== null) this.#plan(entry, slot)
  }

  #enqueue(entry: Entry, run: Execution): void {
    entry.waiting.push(run)
    this.#release(entry)
  }

  #plan(entry: Entry, slot: EpochMs): void {
    const { jobId, job, schedule } = entry
    const { jitter } = job
    const jitterSeconds = jitter === undefined ? 0 : durationMs(jitter, 'jitter') / 1_000
    entry.plannedMs = slot
    this.#time.at(dueAtOf({ jobId, jitterSeconds }, slot), () => {
      const runsLeft = schedule!.compiled.bounds?.maxRuns ?? Number.POSITIVE_INFINITY
      entry.plannedMs = null
      if (entry.slotsRun < runsLeft) {
        // An interval that counts from an end is planned when there is one.
        if (schedule!.definition.after_completion !== true) this.#planAfter(entry, slot)
        if (!isExcluded(schedule!.compiled, slot)) this.#fire(entry, slot)
      }
      this.#graphs.lookFor(entry)
    })
  }

  #fire(entry: Entry, slot: EpochMs): void {
    const run = this.#make(entry, 'slot', new Date(slot), entry.job.payload)
    const overlap = entry.job.overlap ?? 'SKIP'
    const live = this.#runs.filter((one) => one.key === run.key && one.isLive)
    const waitingSlots = entry.waiting.filter(({ kind }) => kind === 'slot').length
    const isBusy = live.length + entry.waiting.length > 0 || this.#graphs.isUnderWay(run.key)
    const room = {
      ALLOW: bufferMax,
      SKIP: 0,
      BUFFER_ONE: 1,
      BUFFER_ALL: bufferMax,
      CANCEL_RUNNING: bufferMax,
    }
    if (isBusy && overlap !== 'ALLOW' && waitingSlots >= room[overlap]) {
      run.skip(null)
      return
    }
    entry.slotsRun++
    if (overlap === 'CANCEL_RUNNING') {
      this.#graphs.cancelRuns(run.key)
      for (const one of [...entry.waiting, ...live]) one.cancel()
    }
    this.#graphs.start(run)
    this.#enqueue(entry, run)
  }

  #make(entry: Entry, kind: TestRun['kind'], scheduledTime: Date, payload: unknown): Execution {
    if (this.#runs.length >= runsMax) throw new RangeError(`The kit has run ${runsMax} executions.`)
    const { job, jobId } = entry
    const run = new Execution(this.#time, { job, jobId, kind, scheduledTime, payload }, (ended) =>
      this.#onEnd(entry, ended),
    )
    this.#runs.push(run)
    return run
  }

  #onEnd(entry: Entry, ended: Execution): void {
    entry.waiting = entry.waiting.filter((run) => run !== ended)
    if (ended.graphRunId === null) this.#planAfterEnd(entry, ended)
    else this.#graphs.onEnd(ended)
    // Executions that share a limit with it may wait for it, too.
    for (const one of this.#entries.values()) this.#release(one)
  }

  #onRunOver(roots: readonly Execution[]): void {
    for (const root of roots) this.#planAfterEnd(this.#entryOf(root.key), root)
    for (const one of this.#entries.values()) this.#release(one)
  }

  #planAfterEnd(entry: Entry, { kind }: Execution): void {
    const { schedule, jobId } = entry
    if (kind !== 'slot' || schedule?.definition.after_completion !== true) return
    const slot = slotAfterEnd({ jobId, schedule: schedule.definition }, epochMs(this.#time.nowMs))
    if (slot !== null) this.#plan(entry, slot)
  }

  #release(entry: Entry): void {
    while (entry.waiting.length > 0 && this.#mayStart(entry.job)) entry.waiting.shift()!.start()
  }

  #mayStart({ key, overlap = 'SKIP', concurrencyLimit, concurrencyKey }: AnyJob): boolean {
    const live = this.#runs.filter((run) => run.isLive)
    const own = live.filter((run) => run.key === key).length
    if (overlap !== 'ALLOW' && (own > 0 || this.#graphs.isUnderWay(key))) return false
    if (concurrencyLimit !== undefined && own >= concurrencyLimit) return false
    if (concurrencyKey === undefined) return true
    const sharing = live.filter((run) => run.job.concurrencyKey?.key === concurrencyKey.key)
    return sharing.length < concurrencyKey.limit
  }

  #entryOf(job: AnyJob | string): Entry {
    const key = typeof job === 'string' ? job : job.key
    const entry = this.#entries.get(key)
    if (entry === undefined) throw new TypeError(`There is no job ${key} in this kit.`)
    return entry
  }
}

function toJobParent(parent: TestParent, index: number): JobParent {
  checkOptionNames(`parents[${index}]`, parent, parentOptions)
  const { job, status = 'SUCCEEDED', result } = parent
  const jobKey = typeof job === 'string' ? job : job.key
  return {
    jobId: jobIdOf(jobKey),
    jobKey,
    executionId: randomUUID(),
    status,
    ...(result !== undefined && { result: asParentResult(result) }),
  }
}

function isSkippedSlot({ kind, status }: TestRun): boolean {
  return kind === 'slot' && status === 'SKIPPED'
}

/** The same for a key in every test: it decides the values of H and the jitter. */
function jobIdOf(key: string): string {
  const hex = createHash('sha256').update(key).digest('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-7${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}
