// Whether two jobs have the same slots, or one slot in common. The same words are not enough: an interval without a start counts from when its
// job was made, and the H of a cron text is another one for each job.
import { isDeepStrictEqual } from 'node:util'
import { RecentMap } from '../../lib/recent-map.ts'
import { type EpochMs, epochMs } from '../../lib/time/epoch.ts'
import { isAfterCompletion } from '../schedule/after-completion.ts'
import { compileStored } from '../schedule/compile-schedule.ts'
import { type CompiledSchedule, nextSlot } from '../schedule/next-run.ts'
import type { JobVersion } from './job.ts'

type Scheduled = Pick<JobVersion, 'jobId' | 'schedule' | 'anchorAt'>

export function haveSameSlots(a: Scheduled, b: Scheduled): boolean {
  if (!isDeepStrictEqual(a.schedule, b.schedule) || isAfterCompletion(a.schedule)) return false
  const one = compileStored(a)
  // One that cannot be read has no slots to share.
  return one !== null && isDeepStrictEqual(one, compileStored(b))
}

/** Whether the schedule of a job has this slot. A schedule that counts from an end has no slots of its own. */
export function hasSlotAt(job: Scheduled, slot: EpochMs): boolean {
  return isSlotOf(compile(job), slot)
}

/** `hasSlotAt` with a cache, for the same jobs again and again: the schedule of each version is compiled once. */
export class KnownSchedules {
  readonly #compiled = new RecentMap<CompiledSchedule | null>({ weightMax: 4_000 })

  hasSlotAt(job: Scheduled & Pick<JobVersion, 'version'>, slot: EpochMs): boolean {
    const key = `${job.jobId} ${job.version}`
    let compiled = this.#compiled.get(key)
    if (compiled === undefined) {
      compiled = compile(job)
      this.#compiled.set(key, compiled)
      this.#compiled.prune()
    }
    return isSlotOf(compiled, slot)
  }
}

/** Null: it has no slots of its own. */
function compile(job: Scheduled): CompiledSchedule | null {
  return isAfterCompletion(job.schedule) ? null : compileStored(job)
}

function isSlotOf(compiled: CompiledSchedule | null, slot: EpochMs): boolean {
  return compiled !== null && nextSlot(compiled, epochMs(slot - 1)) === slot
}
