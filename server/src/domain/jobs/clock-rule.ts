// The clock rule of a version. A stored schedule without `dst_gap` and `dst_fold` is read by clock rule 1, also by programs
// from before rule 2. Where the two rules differ, a version under rule 2 therefore spells out both fields, and `impliedDst`
// names the ones that nobody gave: every program, older or newer, finds the same slots in the same version.
import { parseCron } from '../schedule/cron.ts'
import { DST_FIELDS, followsElapsedTime } from '../schedule/cron-pattern.ts'
import type { JobVersion, StoredSchedule } from './job.ts'
import { editJob, firstUndecided, type JobState, type JobWrite } from './job-change.ts'

type Spelled = Pick<JobVersion, 'schedule' | 'impliedDst'>

/** A schedule as a client gave it, in the form to store. */
export function spellOut(schedule: StoredSchedule, jobId: string): Spelled {
  const impliedDst = DST_FIELDS.filter((name) => schedule[name] === undefined)
  if (impliedDst.length === 0 || !rulesDiffer(schedule, jobId)) return { schedule, impliedDst: [] }
  return { schedule: { dst_gap: 'run_after', dst_fold: 'first', ...schedule }, impliedDst }
}

/** The schedule without the fields that nobody gave. */
export function asGiven({ schedule, impliedDst }: Spelled): StoredSchedule {
  const given = { ...schedule }
  for (const name of impliedDst ?? []) delete given[name]
  return given
}

/** A zone that has no clock changes today may get some; UTC never will. */
function rulesDiffer(
  { type, timezone = 'UTC', cron_expression: text }: StoredSchedule,
  jobId: string,
): boolean {
  if (type !== 'CRON' || timezone === 'UTC' || timezone.startsWith('Etc/')) return false
  const fields = parseCron(text ?? '', jobId)
  return fields.ok && followsElapsedTime(fields.value, 1) !== followsElapsedTime(fields.value, 2)
}

/** A slot this near may be on its way already; it is not disturbed. */
const nearMs = 2_000

/**
 * Moves a job from clock rule 1 to rule 2 with a new version; its slots so far keep the version that they were planned with.
 * `nothing`: the rules do not differ for it, or it has no slots to come. `later`: a slot is due, late or owed, and a new
 * version would skip it.
 */
export function moveToRule2(state: JobState, by: string): JobWrite | 'nothing' | 'later' {
  const isOver = state.status === 'DELETED' || state.status === 'COMPLETED'
  if (isOver || state.dependsOn.length > 0) return 'nothing'
  const spelled = spellOut(state.schedule, state.jobId)
  if (spelled.impliedDst!.length === 0) return 'nothing'
  if (state.status === 'ACTIVE' && !isQuiet(state)) return 'later'
  const version = { ...versionOf(state), version: state.version + 1, ...spelled }
  return editJob(state, { by, key: state.key, version })
}

function isQuiet(state: JobState): boolean {
  const next = firstUndecided(state)
  return state.owed === null && (next === null || next > state.now + nearMs)
}

function versionOf(state: JobState): JobVersion {
  return {
    jobId: state.jobId,
    version: state.version,
    tenantId: state.tenantId,
    name: state.name,
    description: state.description,
    tags: state.tags,
    schedule: state.schedule,
    impliedDst: state.impliedDst,
    anchorAt: state.anchorAt,
    execution: state.execution,
    retryPolicy: state.retryPolicy,
    priority: state.priority,
    overlapPolicy: state.overlapPolicy,
    misfirePolicy: state.misfirePolicy,
    misfireWindowSeconds: state.misfireWindowSeconds,
    jitterSeconds: state.jitterSeconds,
    concurrencyLimit: state.concurrencyLimit,
    concurrencyKey: state.concurrencyKey,
    dependsOn: state.dependsOn,
    metadata: state.metadata,
  }
}
