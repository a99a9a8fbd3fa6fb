// The one release loop: lets triggers and owed slots go once nothing of their job is live. It looks at what waits, a
// bounded number of jobs at a time, and goes round; a finish touches no row of it.
import { executionIdAt } from '../domain/execution.ts'
import type { LaneChooser } from '../domain/lane.ts'
import { serverRoute } from '../domain/route.ts'
import { compileSchedule } from '../domain/schedule/compile-schedule.ts'
import { nextSlot } from '../domain/schedule/next-run.ts'
import type { EpochMs } from '../lib/epoch.ts'
import type { Clock } from '../ports/clock.ts'
import type { Ids } from '../ports/ids.ts'
import type { ReleaseOrder, Upkeep, WaitingJob } from '../ports/upkeep.ts'

export interface ReleaseDeps {
  clock: Pick<Clock, 'databaseNow'>
  ids: Ids
  lanes: LaneChooser
  upkeep: Pick<Upkeep, 'findWaiting' | 'release'>
  /** Called after a commit that made something claimable. */
  onReady: () => void
}

const jobsMax = 500
/** While something waits. */
const releaseEveryMs = 100
/** The floor while nothing waits. */
export const lookForWaitingEveryMs = 1_000

export class Releaser {
  readonly #deps: ReleaseDeps
  /** Where the round is; null: at its beginning. */
  #after: string | null = null
  #found = 0

  constructor(deps: ReleaseDeps) {
    this.#deps = deps
  }

  async step(): Promise<'more' | 'idle' | number> {
    const { upkeep, onReady } = this.#deps
    const jobs = await upkeep.findWaiting(this.#after, jobsMax)
    const released = await upkeep.release(jobs.map((job) => this.#order(job)))
    if (released.length > 0) onReady()
    this.#found += jobs.length
    if (jobs.length === jobsMax) {
      this.#after = jobs.at(-1)!.jobId
      return 'more'
    }
    const found = this.#found
    this.#after = null
    this.#found = 0
    return found === 0 ? 'idle' : releaseEveryMs
  }

  #order({ jobId, version, tenantId, priority, schedule, anchorAt, owed }: WaitingJob): ReleaseOrder {
    if (owed === null) return { jobId, version, owed: null }
    const compiled = compileSchedule(schedule, { createdAt: anchorAt, jobId })
    // Without a slot in the range (the zone's rules changed meanwhile) nothing is owed any more: one past its end says so.
    const nothing = (owed.to + 1) as EpochMs
    const slot = compiled.ok
      ? (nextSlot(compiled.value.compiled, (owed.from - 1) as EpochMs) ?? nothing)
      : nothing
    const next = compiled.ok ? nextSlot(compiled.value.compiled, slot) : null
    const { ids, lanes, clock } = this.#deps
    return {
      jobId,
      version,
      owed: {
        slot,
        next,
        executionId: executionIdAt(ids.nextBatch(), 0),
        route: serverRoute,
        lane: lanes.choose(tenantId, clock.databaseNow()),
        priority,
      },
    }
  }
}
