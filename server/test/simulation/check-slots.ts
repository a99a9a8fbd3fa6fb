// Every due slot has exactly one record, an execution or a skip, and nothing has a record that is no slot.

import { isLimited } from '../../src/domain/jobs/job.ts'
import type { SkippedRange } from '../../src/domain/jobs/job-change.ts'
import type { SkipReason } from '../../src/domain/queue/execution.ts'
import { compileStored } from '../../src/domain/schedule/compile-schedule.ts'
import { isExcluded } from '../../src/domain/schedule/next-run.ts'
import { joinedMax, joinsCatchUp } from '../../src/domain/scheduling/misfire.ts'
import { uncertaintyMsMax } from '../../src/domain/scheduling/partition-share.ts'
import { type EpochMs, toRfc3339 } from '../../src/lib/time/epoch.ts'
import { checkVersion, explainChange, isBeforeStep } from './check-changes.ts'
import { type CheckedJob, type Context, dueOf } from './checker.ts'
import { clockStepsOf } from './clock-steps.ts'
import { slowCallMsMax } from './faults.ts'

/** Within this time of a fault a misfire is no surprise: a slot is misfired a minute after its time. */
const misfireAfterMs = 60_000
/** How long after a fault its effects may last: leases run out, windows are loaded anew. */
const aftermathMs = 30_000
/** A slot that is sent to the store later than this is not skipped for overlap. */
const onTimeMs = 2_020
/** A server relies on its measurement of the store's clock for this long. */
const unmeasuredMsMax = 60_000

export function checkSlots(context: Context, checked: CheckedJob): void {
  const { job, expected } = checked
  const { say } = context
  const skipped = collectSkips(context, checked)
  const isSlot = new Set(expected)
  for (const [slot, { reason, executionId }] of job.slots) {
    if (!isSlot.has(slot) && !isBeforeStep(checked, slot, context.evidence.backMs))
      say('I2', `${nameOf(checked, slot)} has a record and is no slot`)
    if (reason !== null && skipped.get(slot) !== reason)
      say('I1', `${nameOf(checked, slot)} is ${reason} by its row and not by its range`)
    if (reason === null && !job.ended.has(executionId))
      say('I14', `${nameOf(checked, slot)}: its execution ${executionId} never ended`)
  }
  for (const slot of expected) {
    const isFired = job.slots.get(slot)?.reason === null
    if (isFired && isExcludedFor(checked, slot))
      say('I1', `${nameOf(checked, slot)} ran though it is excluded`)
    if (isFired && skipped.has(slot)) say('I3', `${nameOf(checked, slot)} was fired and skipped`)
    if (!isFired && !skipped.has(slot)) say('I1', `${nameOf(checked, slot)} has no record`)
  }
  for (const { executionId, slot } of checked.executions) {
    const row = job.slots.get(slot)
    if (row === undefined || row.reason !== null) say('I2', `${executionId} ran for ${nameOf(checked, slot)}`)
    else if (row.executionId !== executionId)
      say('I3', `${nameOf(checked, slot)} has the executions ${row.executionId} and ${executionId}`)
  }
}

/** The slots that are on record as skipped, and why. */
function collectSkips(context: Context, checked: CheckedJob): Map<EpochMs, string> {
  const { job, expected, version } = checked
  const { say } = context
  const skipped = new Map<EpochMs, string>()
  for (const { from, to, count, reason, version: skippedUnder } of job.skips) {
    checkVersion(context, checked, from, skippedUnder)
    const slots = expected.filter((slot) => slot >= from && slot <= to)
    const isWhole = slots.length === count && slots[0] === from && slots.at(-1) === to
    if (!isWhole && !isOwedAhead(checked, { to, count }, slots))
      say(
        'I1',
        `${nameOf(checked, from)}: a range of ${count} up to ${toRfc3339(to)} holds ${slots.length} slots`,
      )
    if (reason === 'overlap' && version.overlapPolicy === 'ALLOW' && !isLimited(version))
      say('I1', `${nameOf(checked, from)} was skipped though the job allows overlap`)
    for (const slot of slots) {
      if (skipped.has(slot)) say('I3', `${nameOf(checked, slot)} was skipped twice`)
      skipped.set(slot, reason)
      explain(context, checked, slot, reason)
    }
  }
  return skipped
}

/**
 * Whether only the last slot is beyond the change that ended it: a scheduler with a clock ahead, by less than its
 * permitted uncertainty, had the slot owed a moment before its time, and a change settles owed slots.
 */
function isOwedAhead(
  { changes }: CheckedJob,
  { to, count }: { to: EpochMs; count: number },
  slots: readonly EpochMs[],
): boolean {
  return slots.length === count - 1 && changes.some(({ at }) => at < to && to - at <= uncertaintyMsMax)
}

function explain(context: Context, checked: CheckedJob, slot: EpochMs, reason: SkipReason): void {
  const { plain, say, wasFaulty } = context
  const due = dueOf(checked, slot)
  if (reason === 'misfire') {
    const isExplained = !plain && wasFaulty(null, due - aftermathMs, due + misfireAfterMs)
    if (!isExplained) say('I1', `${nameOf(checked, slot)} was misfired for no reason`)
    return
  }
  // See check-budgets.ts.
  if (reason === 'quota') return
  if (reason === 'exclusion') {
    if (!isExcludedFor(checked, slot))
      say('I1', `${nameOf(checked, slot)} was skipped and no exclusion holds it`)
    return
  }
  if (reason !== 'overlap') {
    explainChange(context, checked, slot, reason)
    return
  }
  // In the way is an execution under way, or an earlier slot that was still owed: it was fired only later.
  const mayOwe = !plain || checked.changes.some(({ asOf }) => asOf !== null)
  // Under FIRE_ALL a slot joins the owed ones, unless a thousand have joined.
  const joins = [...checked.job.versions.values()].every(joinsCatchUp) && checked.expected.length <= joinedMax
  const isExplainedBy = (latestAt: number) =>
    checked.inTheWay.some(({ slot: other, firedAt, endedAt }) => {
      const isBusy = firedAt <= latestAt && endedAt >= due
      return isBusy || (mayOwe && !joins && other < slot && firedAt >= due)
    })
  const latestAt = due + onTimeMs + onTheWayMs(context, due)
  const isExplained = isExplainedBy(latestAt) || isExplainedBy(latestAt + unseenStepMs(context, due))
  // Or it was still owed then, and a change that came later put an end to it.
  const wasOwed = mayOwe && checked.job.skips.some((range) => isDropped(checked, range, slot, due))
  if (!isExplained && !wasOwed) say('I1', `${nameOf(checked, slot)} was skipped for overlap with nothing`)
}

/** On a slow way a slot that was sent in time is decided later, and executions started meanwhile block it. */
function onTheWayMs({ evidence: { faults, databaseAt } }: Context, due: EpochMs): number {
  const isSlow = faults.some(
    ({ kind, fromMs, toMs }) =>
      kind === 'slow' && databaseAt(fromMs) <= due + onTimeMs && databaseAt(toMs) >= due,
  )
  return isSlow ? slowCallMsMax : 0
}

/**
 * By how much the store's clock was put forward near this time. Until a server has measured it again, it takes a slot
 * for on time that is late by that much more, and executions started meanwhile block it.
 */
function unseenStepMs({ evidence }: Context, due: EpochMs): number {
  const isNear = (before: number, after: number) =>
    after > before && after >= due - unmeasuredMsMax && before <= due + onTimeMs
  return clockStepsOf(evidence).reduce(
    (ms, { before, after }) => (isNear(before, after) ? ms + after - before : ms),
    0,
  )
}

/** Whether an earlier slot was undecided when this one came due, and stopped by a change. */
function isDropped(
  { changes }: CheckedJob,
  { to, reason }: SkippedRange,
  slot: EpochMs,
  due: EpochMs,
): boolean {
  if (to >= slot || to < slot - misfireAfterMs || !['paused', 'edited', 'deleted'].includes(reason))
    return false
  return changes.some(({ at }) => at >= due)
}

/** By the schedule of its time. */
function isExcludedFor({ job, reigns }: CheckedJob, slot: EpochMs): boolean {
  const reign = reigns.find(({ from, to }) => slot > from && slot <= to)
  if (reign === undefined) return false
  const { schedule, anchorAt } = job.versions.get(reign.versionMin)!
  if (schedule.exclusions === undefined) return false
  const compiled = compileStored({ schedule, anchorAt, jobId: job.jobId })
  return compiled !== null && isExcluded(compiled, slot)
}

export function nameOf({ job, version }: CheckedJob, slot: EpochMs): string {
  return `slot ${toRfc3339(slot)} of "${version.name}" (${job.jobId})`
}
