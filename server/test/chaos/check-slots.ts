// The slot ledger. Every due slot has exactly one record, an execution or a skip with a reason; nothing else has a
// record; missed slots follow the misfire policy; after a pause, an edit or a delete no slot from before it fires.
import type { SkipRow, SlotRow } from './check-evidence.ts'
import type { CheckedJob, Picture, Recorded } from './check-picture.ts'

/** A slot is misfired when it could not fire within this time. */
const misfireAfterMs = 60_000
/** One fault that is soon over holds no slot up for so long: things must have been wrong for most of it. */
const outageMsMin = 45_000
/** Between the decision to fire and the fire. */
const decidedMs = 10_000
/** FIRE_ALL runs this many missed slots of a job. */
const fireAllMax = 1_000
/** A statement and its commit take this long at most: longer ones are ended. */
const commitMs = 1_000
/** A slot that fires later than this is owed, and is not skipped for overlap. */
const onTimeMs = 2_000

export function checkSlots(picture: Picture): void {
  const { evidence, jobs, say } = picture
  const slots = Map.groupBy(evidence.slots, ({ jobId }) => jobId)
  const skips = Map.groupBy(evidence.skips, ({ jobId }) => jobId)
  const known = new Set(jobs.map(({ job }) => job.jobId))
  for (const jobId of slots.keys())
    if (!known.has(jobId)) say('I2', `slots of the job ${jobId}, which is none`)
  for (const checked of jobs) {
    const { jobId } = checked.job
    checkLedger(picture, checked, slots.get(jobId) ?? [], skips.get(jobId) ?? [])
    for (const execution of checked.executions) checkVersion(picture, checked, execution)
  }
}

function checkLedger(
  picture: Picture,
  checked: CheckedJob,
  rows: readonly SlotRow[],
  ranges: readonly SkipRow[],
): void {
  const { say } = picture
  const name = nameOf(checked)
  if (isImmediate(checked)) {
    if (rows.length !== 1 || rows[0]!.reason !== null) say('I1', `${name} has ${rows.length} slots, not one`)
    checkExecutions(picture, checked, rows)
    return
  }
  const isSlot = new Set(checked.expected)
  // A decision after the last slot that is asked for is right as well.
  const last = checked.reigns.at(-1)?.to ?? 0
  const isOpen = checked.job.status === 'ACTIVE'
  const skipped = collectSkips(picture, checked, ranges, { last, isOpen })
  for (const { slot, reason } of rows) {
    if (!isSlot.has(slot) && !(isOpen && slot > last))
      say('I2', `${name}: ${at(slot)} has a record and is no slot`)
    if (reason !== null && !(isOpen && slot > last) && skipped.get(slot) !== reason)
      say('I1', `${name}: ${at(slot)} is skipped for ${reason} by its row and not by its range`)
  }
  const fired = new Set(rows.filter(({ reason }) => reason === null).map(({ slot }) => slot))
  for (const slot of checked.expected) {
    if (fired.has(slot) && skipped.has(slot)) say('I3', `${name}: ${at(slot)} was fired and skipped`)
    if (!fired.has(slot) && !skipped.has(slot)) say('I1', `${name}: ${at(slot)} has no record`)
  }
  checkExecutions(picture, checked, rows)
  checkMisfires(picture, checked, { fired, skipped })
}

/** The slots that are on record as skipped, and why. */
function collectSkips(
  { say }: Picture,
  checked: CheckedJob,
  ranges: readonly SkipRow[],
  { last, isOpen }: { last: number; isOpen: boolean },
): Map<number, string> {
  const skipped = new Map<number, string>()
  for (const { from, to, count, reason } of ranges) {
    if (isOpen && to > last) continue
    const slots = checked.expected.filter((slot) => slot >= from && slot <= to)
    if (slots.length !== count || slots[0] !== from || slots.at(-1) !== to)
      say(
        'I1',
        `${nameOf(checked)}: a skip of ${count} from ${at(from)} to ${at(to)} holds ${slots.length} slots`,
      )
    for (const slot of slots) {
      if (skipped.has(slot)) say('I3', `${nameOf(checked)}: ${at(slot)} was skipped twice`)
      skipped.set(slot, reason)
    }
  }
  return skipped
}

/** Each execution of a slot is that of its row. */
function checkExecutions({ say }: Picture, checked: CheckedJob, rows: readonly SlotRow[]): void {
  const bySlot = new Map(rows.map((row) => [row.slot, row]))
  for (const { executionId, first } of checked.executions) {
    if (first.kind !== 'slot') continue
    const row = bySlot.get(first.slot)
    const name = `${nameOf(checked)}: ${executionId} of ${at(first.slot)}`
    if (row === undefined || row.reason !== null)
      say('I2', `${name} ran, and its slot is on record as ${row?.reason}`)
    else if (row.executionId !== executionId) say('I3', `${name} ran, and so did ${row.executionId}`)
  }
}

interface Ledger {
  fired: ReadonlySet<number>
  skipped: ReadonlyMap<number, string>
}

function checkMisfires(picture: Picture, checked: CheckedJob, { fired, skipped }: Ledger): void {
  const { say, faultyMs } = picture
  const name = nameOf(checked)
  const { expected } = checked
  const missed = expected.filter((slot) => skipped.get(slot) === 'misfire')
  expected.forEach((slot, index) => {
    const reason = skipped.get(slot)
    if (reason === 'overlap') explainOverlap(picture, checked, slot)
    if (reason !== 'misfire') return
    const { misfire, jitterSeconds } = versionAt(checked, slot)
    const due = slot + jitterSeconds * 1_000
    if (faultyMs(slot, due + misfireAfterMs) < outageMsMin)
      say('I4', `${name}: ${at(slot)} was misfired for no reason`)
    if (misfire === 'FIRE_ALL' && missed.length < fireAllMax)
      say('I4', `${name}: ${at(slot)} was missed and did not run, though all should`)
    const next = expected[index + 1]
    // The latest missed slot runs, unless somebody changed the job before it could.
    const isLast = next !== undefined && skipped.get(next) !== 'misfire'
    const isChanged = next !== undefined && !['overlap', undefined].includes(skipped.get(next))
    if (misfire === 'FIRE_ONCE' && isLast && !fired.has(next) && !isChanged)
      say('I4', `${name}: of those that were missed up to ${at(slot)} none ran`)
  })
  for (const { first, executionId } of checked.executions) {
    if (first.kind !== 'slot') continue
    const { misfire, overlap, limit, key, jitterSeconds } = versionAt(checked, first.slot)
    const lateMs = first.enqueuedAt - first.slot - jitterSeconds * 1_000
    const waits = overlap !== 'ALLOW' || limit !== null || key !== null
    if (misfire === 'SKIP' && !waits && lateMs > misfireAfterMs + decidedMs)
      say('I4', `${name}: ${executionId} of ${at(first.slot)} ran ${lateMs} ms late, though none should`)
  }
}

/** In the way is another execution of the job, or an earlier slot that was still owed. */
function explainOverlap({ say, evidence }: Picture, checked: CheckedJob, slot: number): void {
  const { overlap, limit, key, jitterSeconds } = versionAt(checked, slot)
  if (overlap === 'ALLOW' && limit === null && key === null) {
    say('I1', `${nameOf(checked)}: ${at(slot)} was skipped for overlap, which is allowed`)
    return
  }
  const latest = slot + jitterSeconds * 1_000 + onTimeMs + 500
  const isBusy = checked.executions.some(({ first, last }) => {
    const isBefore = first.kind === 'slot' ? first.slot < slot : true
    // The record bears the time it was written, and counts from its commit on.
    const endedAt = last.final ? last.recordedAt + commitMs : evidence.readAt
    return isBefore && first.enqueuedAt <= latest && endedAt >= slot
  })
  const isOwed = checked.executions.some(({ first }) => first.slot < slot && first.enqueuedAt >= slot)
  // A graph is under way as long as its run is.
  const isRun = evidence.graphRuns.some(
    ({ jobIds, createdAt, finishedAt }) =>
      jobIds.includes(checked.job.jobId) && createdAt <= latest && (finishedAt ?? evidence.readAt) >= slot,
  )
  if (!isBusy && !isOwed && !isRun)
    say('I1', `${nameOf(checked)}: ${at(slot)} was skipped for overlap with nothing`)
}

/** The slot fired while the job was active, and with the version in force at that time. */
function checkVersion({ say }: Picture, checked: CheckedJob, { first, executionId }: Recorded): void {
  if (first.kind !== 'slot' || isImmediate(checked)) return
  const { enqueuedAt, slot, version } = first
  const before = checked.states.findLast(({ at: since }) => since < enqueuedAt) ?? checked.states[0]!
  // Within one millisecond nobody can tell which came first.
  const same = checked.states.filter(({ at: since }) => since === enqueuedAt)
  const possible = [before, ...same]
  const name = `${nameOf(checked)}: ${executionId} of ${at(slot)} was fired at ${at(enqueuedAt)}`
  if (!possible.some(({ status }) => status === 'ACTIVE'))
    say('I7', `${name}, and the job was ${before.status} since ${at(before.at)}`)
  else if (!possible.some((state) => state.version === version))
    say('I7', `${name} as version ${version}, and the job was at ${before.version} since ${at(before.at)}`)
}

function versionAt({ reigns, versions }: CheckedJob, slot: number) {
  return reigns.find(({ from, to }) => slot > from && slot <= to)?.version ?? versions.get(1)!
}

function isImmediate({ versions }: CheckedJob): boolean {
  return versions.get(1)?.schedule.type === 'IMMEDIATE'
}

function nameOf({ job }: CheckedJob): string {
  return `"${job.name}" (${job.jobId})`
}

export function at(ms: number): string {
  return Number.isFinite(ms) ? new Date(ms).toISOString() : 'never'
}
