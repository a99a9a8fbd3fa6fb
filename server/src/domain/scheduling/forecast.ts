// How many slots are to come in each ten minutes, and which jobs make the peaks. Schedules that mean the same are looked
// at once; how many slots a dense one has is counted, not walked.
import { RecentMap } from '../../lib/recent-map.ts'
import { type EpochMs, epochMs } from '../../lib/time/epoch.ts'
import { hourMs } from '../../lib/time/units.ts'
import type { StoredSchedule } from '../jobs/job.ts'
import { isAfterCompletion } from '../schedule/after-completion.ts'
import { compileStored } from '../schedule/compile-schedule.ts'
import { countRuns } from '../schedule/count-runs.ts'
import type { Calendars } from '../schedule/exclusions.ts'
import { type CompiledSchedule, nextRun } from '../schedule/next-run.ts'

/** An active job that has a slot to come. */
export interface PlannedJob {
  jobId: string
  name: string
  schedule: StoredSchedule
  anchorAt: EpochMs
  /** As stored: the next slot to fire. */
  slotAt: EpochMs
  /** Slots that ran, while the schedule has a `max_runs`. */
  runs: number
  /** The entries of the calendars that the job names; null: it names none. */
  calendars: Calendars | null
}

export interface Peak {
  at: EpochMs
  count: number
  /** Jobs with their slots here rather than elsewhere come first. */
  jobs: { jobId: string; name: string }[]
}

export const forecastStepMs = 600_000
const peaksMax = 5
const peakJobsMax = 5
/** A schedule with more slots than this is counted bucket by bucket. */
const walkedMax = 100
const sharedMax = 2_000

/** The slots of a job: in which buckets, and how many in each. */
type Spread = readonly (readonly [bucket: number, count: number])[]

interface Candidate {
  jobId: string
  name: string
  /** Of its slots, the share that lies in the bucket. */
  share: number
}

export class Forecast {
  readonly from: EpochMs
  readonly counts: number[]
  jobsSeen = 0
  readonly #now: EpochMs
  readonly #to: EpochMs
  readonly #shared = new RecentMap<Spread>({ weightMax: sharedMax })
  /** Of each bucket, the best first. */
  readonly #candidates: Candidate[][]

  constructor(now: EpochMs, hours: number) {
    const buckets = (hours * hourMs) / forecastStepMs
    this.#now = now
    this.from = epochMs(Math.floor(now / forecastStepMs) * forecastStepMs)
    this.#to = epochMs(this.from + buckets * forecastStepMs)
    this.counts = new Array<number>(buckets).fill(0)
    this.#candidates = Array.from({ length: buckets }, () => [])
  }

  add(job: PlannedJob): void {
    this.jobsSeen += 1
    const spread = this.#spreadOf(job)
    const total = spread.reduce((sum, [, count]) => sum + count, 0)
    for (const [bucket, count] of spread) {
      this.counts[bucket]! += count
      this.#note(bucket, { jobId: job.jobId, name: job.name, share: count / total })
    }
  }

  /** The fullest buckets, the fullest first. */
  peaks(): Peak[] {
    return this.counts
      .map((count, bucket) => ({ count, bucket }))
      .filter(({ count }) => count > 0)
      .toSorted((a, b) => b.count - a.count || a.bucket - b.bucket)
      .slice(0, peaksMax)
      .map(({ count, bucket }) => ({
        at: epochMs(this.from + bucket * forecastStepMs),
        count,
        jobs: this.#candidates[bucket]!.map(({ jobId, name }) => ({ jobId, name })),
      }))
  }

  #note(bucket: number, candidate: Candidate): void {
    const best = this.#candidates[bucket]!
    if (best.length === peakJobsMax && best.at(-1)!.share >= candidate.share) return
    const behind = best.findIndex(({ share }) => share < candidate.share)
    best.splice(behind < 0 ? best.length : behind, 0, candidate)
    if (best.length > peakJobsMax) best.pop()
  }

  #spreadOf(job: PlannedJob): Spread {
    // When the one after it comes is known only when it has ended.
    if (isAfterCompletion(job.schedule)) return this.#walk([job.slotAt])
    if (job.schedule.max_runs !== undefined) return this.#limited(job, job.schedule.max_runs - job.runs)
    const key = sharedKeyOf(job)
    const known = key === null ? undefined : this.#shared.get(key)
    if (known !== undefined) return known
    const compiled = compileStored(job, job.calendars)
    const spread = compiled === null ? [] : this.#count(compiled)
    if (key === null) return spread
    this.#shared.set(key, spread)
    this.#shared.prune()
    return spread
  }

  #count(compiled: CompiledSchedule): Spread {
    const range = { from: epochMs(this.#now + 1), to: this.#to }
    if (countRuns(compiled, range) <= walkedMax) return this.#walk(this.#runs(compiled, walkedMax))
    const spread: [number, number][] = []
    for (let bucket = 0; bucket < this.counts.length; bucket++) {
      const start = this.from + bucket * forecastStepMs
      const from = epochMs(Math.max(start, range.from))
      const count = countRuns(compiled, { from, to: epochMs(start + forecastStepMs) })
      if (count > 0) spread.push([bucket, count])
    }
    return spread
  }

  /** At most `left` slots; further slots of a dense schedule are not reported. */
  #limited(job: PlannedJob, left: number): Spread {
    const compiled = compileStored(job, job.calendars)
    if (compiled === null || left <= 0) return []
    const range = { from: epochMs(this.#now + 1), to: this.#to }
    if (countRuns(compiled, range) <= left) return this.#count(compiled)
    return this.#walk(this.#runs(compiled, Math.min(left, 10 * walkedMax)))
  }

  *#runs(compiled: CompiledSchedule, limit: number): Iterable<EpochMs> {
    let slot = nextRun(compiled, this.#now)
    for (let n = 0; n < limit && slot !== null && slot < this.#to; n++) {
      yield slot
      slot = nextRun(compiled, slot)
    }
  }

  #walk(slots: Iterable<EpochMs>): Spread {
    const counts = new Map<number, number>()
    for (const slot of slots) {
      if (slot <= this.#now || slot >= this.#to) continue
      const bucket = Math.floor((slot - this.from) / forecastStepMs)
      counts.set(bucket, (counts.get(bucket) ?? 0) + 1)
    }
    return [...counts]
  }
}

/** Jobs with the same one have the same slots. Null: an interval may count from when its job was made, H differs by job. */
function sharedKeyOf({ schedule, calendars }: PlannedJob): string | null {
  const { cron_expression: cron, type } = schedule
  return type === 'CRON' && !/h/i.test(cron ?? '') ? JSON.stringify([schedule, calendars]) : null
}
