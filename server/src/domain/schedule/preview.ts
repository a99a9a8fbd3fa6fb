// The preview a user sees before saving: the sentence, the next slots in local time and UTC, the effect of a clock
// change or an exclusion on each, and warnings. The route and the command both call previewSchedule.
import type { SchedulePreviewReply, SchedulePreviewRequest } from '@carillon/contract/schedule.ts'
import { type EpochMs, epochMs, toRfc3339 } from '../../lib/time/epoch.ts'
import { formatLocal, twoDigits } from './civil.ts'
import { type ClockChange, clockChangeAt, isMovedByGap } from './clock-change.ts'
import { compileSchedule, type ScheduleAnswer } from './compile-schedule.ts'
import { type CronFields, parseCron } from './cron.ts'
import { followsElapsedTime } from './cron-pattern.ts'
import { describeSchedule } from './describe.ts'
import type { Calendars } from './exclusions.ts'
import { readInstant } from './instant.ts'
import { jitterMs } from './jitter.ts'
import { type CompiledSchedule, isExcluded, nextSlot } from './next-run.ts'
import { warnAbout } from './preview-warnings.ts'
import { type Result, refuse } from './schedule-error.ts'
import { findZone, offsetAt, type Zone } from './zone.ts'

interface PreviewContext {
  now: EpochMs
  /** The anchor of an interval without a start, for a job that exists. Default the instant asked about. */
  createdAt?: EpochMs
  calendars?: Calendars
  /** The zone of a schedule that names none. Default UTC. */
  timezone?: string
}

export const previewCountMax = 100
const previewCountDefault = 10
/** A preview of a schedule with long exclusions looks at no more slots than this. */
const slotsSeenMax = 1_000

export function previewSchedule(
  request: SchedulePreviewRequest,
  context: PreviewContext,
): Result<SchedulePreviewReply> {
  const { schedule, count = previewCountDefault, job_id: jobId, jitter_seconds: jitterSeconds = 0 } = request
  if (!Number.isInteger(count) || count < 1 || count > previewCountMax) {
    return refuse('BAD_OPTION', `"count" is 1 to ${previewCountMax}.`, {
      field: 'count',
      allowed: `1 to ${previewCountMax}`,
    })
  }
  const from = request.from === undefined ? null : readInstant(request.from, 'from', null)
  if (from !== null && !from.ok) return from
  const after = from === null ? context.now : epochMs(Math.floor(from.value * 1000))
  const { createdAt = after, calendars, timezone } = context
  const answer = compileSchedule(schedule, { createdAt, jobId, calendars, timezone })
  if (!answer.ok) return answer
  const { compiled, definition, hashedText } = answer.value
  const zone = findZone(definition.timezone ?? 'UTC')
  if (!zone.ok) return zone
  const fields = fieldsOf(answer.value)
  const slots = listSlots(compiled, after, definition.type === 'IMMEDIATE' ? 1 : count)
  const next = slots.map((slot) => {
    const jitter = jitterMs(jobId ?? '', slot, jitterSeconds)
    return {
      at: toRfc3339(slot),
      local: writeLocal(zone.value, slot),
      ...(jitterSeconds === 0 ? {} : { starts_at: toRfc3339(epochMs(slot + jitter)) }),
      notes: notesOn({ compiled, slot, hashed: hashedText !== null, jitter }),
    }
  })
  return {
    ok: true,
    value: {
      description: describeSchedule({ definition, fields, zone: zone.value.id }),
      schedule: definition,
      rule: ruleOf(compiled, fields),
      next,
      warnings: warnAbout({
        definition,
        compiled,
        fields,
        hashed: hashedText !== null,
        hasJob: jobId !== undefined,
        jitterSeconds,
        minIntervalSeconds: request.min_interval_seconds ?? 0,
        after,
        last: slots.at(-1) ?? after,
        some: slots.length > 0,
      }),
    },
  }
}

/** The parsed fields of a cron schedule, with H resolved; null for any other type. */
function fieldsOf({ definition, hashedText }: ScheduleAnswer): CronFields | null {
  if (definition.type !== 'CRON') return null
  const fields = parseCron(hashedText ?? definition.cron_expression ?? '')
  return fields.ok ? fields.value : null
}

function listSlots(compiled: CompiledSchedule, after: EpochMs, count: number): EpochMs[] {
  const slots: EpochMs[] = []
  const maxRuns = compiled.bounds?.maxRuns ?? Number.POSITIVE_INFINITY
  let runs = 0
  // An IMMEDIATE or past ONE_TIME slot is shown though it does not lie after now.
  let slot = compiled.kind === 'once' ? epochMs(compiled.atSecond * 1000) : nextSlot(compiled, after)
  for (let seen = 0; slot !== null && slots.length < count && runs < maxRuns && seen < slotsSeenMax; seen++) {
    slots.push(slot)
    if (!isExcluded(compiled, slot)) runs++ // a skipped slot does not count as a run
    slot = nextSlot(compiled, slot)
  }
  return slots
}

type Note = SchedulePreviewReply['next'][number]['notes'][number]

interface NotedSlot {
  compiled: CompiledSchedule
  slot: EpochMs
  hashed: boolean
  jitter: number
}

function notesOn({ compiled, slot, hashed, jitter }: NotedSlot): Note[] {
  const notes: Note[] = []
  if (compiled.kind === 'cron' || compiled.kind === 'calendar') {
    const change = clockChangeAt(compiled.zone, slot / 1000)
    if (isMovedByGap(compiled, change)) notes.push({ code: 'GAP', message: describeGap(change) })
    if (change?.kind === 'fold') notes.push(describeFold(change.pass, compiled.bothPasses))
  }
  if (isExcluded(compiled, slot)) notes.push({ code: 'EXCLUDED', message: 'An exclusion skips this slot.' })
  if (hashed) notes.push({ code: 'HASHED', message: 'H was replaced by a value that belongs to this job.' })
  if (jitter > 0)
    notes.push({ code: 'JITTERED', message: `Starts ${(jitter / 1000).toFixed(3)} s after its slot.` })
  return notes
}

function describeGap(change: ClockChange | null): string {
  if (change?.kind !== 'gap') return ''
  const from = formatLocal(change.from).slice(11, 16)
  const to = formatLocal(change.to).slice(11, 16)
  return `The clock skips from ${from} to ${to}; slots in between run now, once.`
}

function describeFold(pass: 1 | 2, both: boolean): Note {
  if (pass === 2)
    return { code: 'FOLD_SECOND', message: 'This local time happens twice; this is the second time.' }
  const rule = both ? 'it runs both times' : 'it runs the first time only'
  return { code: 'FOLD_FIRST', message: `This local time happens twice; ${rule}.` }
}

function ruleOf(compiled: CompiledSchedule, fields: CronFields | null): SchedulePreviewReply['rule'] {
  if (compiled.kind === 'once') {
    return {
      follows: 'ONCE',
      gap: 'run_after',
      fold: 'first',
      text: 'One instant; clock changes do not matter.',
    }
  }
  if (compiled.kind === 'elapsed') {
    const text = 'A fixed rate; clock changes do not matter.'
    return { follows: 'FIXED_RATE', gap: 'skip', fold: 'both', text }
  }
  const elapsed = fields !== null && followsElapsedTime(fields)
  const gapText = compiled.runAfterGap
    ? 'times that a clock change skips give one run right after it'
    : 'times that a clock change skips do not run'
  const foldText = compiled.bothPasses
    ? 'times that happen twice run twice'
    : 'times that happen twice run the first time'
  return {
    follows: elapsed ? 'ELAPSED' : 'WALL_CLOCK',
    gap: compiled.runAfterGap ? 'run_after' : 'skip',
    fold: compiled.bothPasses ? 'both' : 'first',
    text: `Follows ${elapsed ? 'elapsed time, because it runs in all 24 hours' : 'the wall clock'}: ${gapText}; ${foldText}.`,
  }
}

/** RFC 3339 with the zone's offset: 2026-03-08T03:00:00-04:00. */
function writeLocal(zone: Zone, slot: EpochMs): string {
  const second = Math.floor(slot / 1000)
  const offset = offsetAt(zone, second)
  const minutes = Math.round(Math.abs(offset) / 60)
  const sign = offset < 0 ? '-' : '+'
  return `${formatLocal(second + offset)}${sign}${twoDigits(Math.floor(minutes / 60))}:${twoDigits(minutes % 60)}`
}
