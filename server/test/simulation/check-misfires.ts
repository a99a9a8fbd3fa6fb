// Slots that nobody could fire in time follow the policy of their job: SKIP none, FIRE_ONCE the latest, FIRE_ALL every one
// within its window. Only where nothing else can make a slot late: no overlap, no limit, no count of runs.
import { isLimited } from '../../src/domain/jobs/job.ts'
import { toRfc3339 } from '../../src/lib/time/epoch.ts'
import { nameOf } from './check-slots.ts'
import { type CheckedJob, type Context, dueOf, isOfSlot, type RecordedExecution } from './checker.ts'

const misfireAfterMs = 60_000
/** A fire is decided and carried out so much later, at most: its server stood still, or the call was late. */
const decidedMsMax = 70_000
/** Slots decided together are fired within this time. */
const togetherMs = 1_000

export function checkMisfires(context: Context, checked: CheckedJob): void {
  const { job, version } = checked
  const { say } = context
  const isCounted = [...job.versions.values()].some(({ schedule }) => schedule.max_runs !== undefined)
  if (version.overlapPolicy !== 'ALLOW' || isLimited(version) || isCounted) return
  const { misfirePolicy, misfireWindowSeconds } = version
  if (misfirePolicy === 'FIRE_ALL') {
    const skip = job.skips.find(({ reason }) => reason === 'misfire')
    if (skip !== undefined && misfireWindowSeconds === null)
      say('I4', `${nameOf(checked, skip.from)} was misfired, and all were to run`)
    return
  }
  let last: RecordedExecution | null = null
  for (const one of checked.executions.filter((each) => isMisfired(checked, each, decidedMsMax))) {
    const name = `${nameOf(checked, one.slot)}, which fired at ${toRfc3339(one.firedAt)},`
    if (misfirePolicy === 'SKIP') say('I4', `${name} was to be skipped`)
    else if (last !== null && Math.abs(one.firedAt - last.firedAt) < togetherMs)
      say('I4', `${name} is the second, and one was to run`)
    last = one
  }
}

/** Whether it ran though it was misfired, for certain when it is so much later still. */
export function isMisfired(checked: CheckedJob, one: RecordedExecution, laterMs = 0): boolean {
  return isOfSlot(one) && one.firedAt - dueOf(checked, one.slot) > misfireAfterMs + laterMs
}
