// The entry point: the `schedule` that a user sent (a text, or the object of spec section 2) becomes a compiled
// schedule and the definition to store, or a refusal. Equal cron texts in one zone share one compiled form.
import { SCHEDULE_TYPES, type ScheduleType } from '@carillon/contract/constants.ts'
import type { ScheduleObject } from '@carillon/contract/schedule.ts'
import { RecentMap } from '../../lib/recent-map.ts'
import type { EpochMs } from '../../lib/time/epoch.ts'
import type { CalendarPattern } from './calendar-pattern.ts'
import { parseCron, refuseLong } from './cron.ts'
import { type ClockRule, type CronPattern, compileCron, DST_FOLDS, DST_GAPS } from './cron-pattern.ts'
import { parseEnglish } from './english/english.ts'
import { type Calendars, compileExclusions } from './exclusions.ts'
import { instantOfLocal, readInstant } from './instant.ts'
import { type Duration, parseInterval } from './interval.ts'
import { type CompiledSchedule, nextSlot } from './next-run.ts'
import { type Result, refuse } from './schedule-error.ts'
import type { SlotBounds } from './slot-bounds.ts'
import { findZone, offsetAt, type Zone } from './zone.ts'

export interface ScheduleContext {
  /** When the job is created, or its interval edited: the anchor of an interval without a start. */
  createdAt: EpochMs
  /** Decides the values of `H`. */
  jobId?: string | undefined
  /**
   * The entries of the calendars named in exclusions; a calendar that is not among them is refused. Absent or null: all
   * are empty.
   */
  calendars?: Calendars | null | undefined
  /** The zone of a schedule that names none. Default UTC. */
  timezone?: string | undefined
  /** For a cron text without `dst_gap` or `dst_fold`. Default 2. */
  clockRule?: ClockRule | undefined
  /** It was accepted before: rules that were added since do not hold for it. */
  isStored?: boolean
}

export interface ScheduleAnswer {
  compiled: CompiledSchedule
  /** The definition to store and echo: always an object with its type, for any form of input. */
  definition: ScheduleObject & { type: ScheduleType }
  /** The cron text with every H replaced; null without H. */
  hashedText: string | null
}

type Compiled = Pick<ScheduleAnswer, 'compiled' | 'hashedText'>

const common = ['timezone', 'start_at', 'end_at', 'max_runs', 'exclusions', 'dst_gap', 'dst_fold']
const fieldsByType: Record<ScheduleType, readonly string[]> = {
  IMMEDIATE: common,
  ONE_TIME: ['scheduled_time', ...common],
  CRON: ['cron_expression', ...common],
  INTERVAL: ['interval', 'every_seconds', 'after_completion', ...common],
}
const everySecondsMax = 315_360_000
const maxRunsMax = 1_000_000_000
const sharedCrons = new RecentMap<CronPattern>({ weightMax: 65_536 })

export function compileSchedule(input: unknown, context: ScheduleContext): Result<ScheduleAnswer> {
  if (typeof input === 'string') {
    const read = readText(input, context)
    return read.ok ? compileObject(read.value, context) : read
  }
  if (typeof input !== 'object' || input === null || Array.isArray(input)) {
    return refuse('BAD_OPTION', 'A schedule is a text or an object.', { field: 'schedule' })
  }
  return compileObject(input as ScheduleObject, context)
}

/**
 * The schedule of a stored job; null: it cannot be read any more, as when its zone has left the zone data. Clock rule 1 is
 * for versions of before migration 20: a later version spells out its choices where the rules differ.
 */
export function compileStored(
  { schedule, anchorAt, jobId }: { schedule: ScheduleObject; anchorAt: EpochMs; jobId: string },
  calendars: Calendars | null = null,
): CompiledSchedule | null {
  const context = { createdAt: anchorAt, jobId, calendars, clockRule: 1, isStored: true } as const
  const answer = compileSchedule(schedule, context)
  return answer.ok ? answer.value.compiled : null
}

/** A plain text: cron, a macro, an ISO interval, or English. */
function readText(text: string, context: ScheduleContext): Result<ScheduleObject> {
  const tooLong = refuseLong(text)
  if (tooLong !== null) return tooLong
  const trimmed = text.trim()
  if (/^@every\s/i.test(trimmed)) {
    const interval = parseInterval(text)
    if (!interval.ok) return interval
    const { months, days, seconds } = interval.value.duration
    if (months + days > 0) return { ok: true, value: { type: 'INTERVAL', interval: trimmed.slice(6).trim() } }
    return { ok: true, value: { type: 'INTERVAL', every_seconds: seconds } }
  }
  if (/^(P[\dT]|R-?\d*\/)/i.test(trimmed)) return { ok: true, value: { type: 'INTERVAL', interval: trimmed } }
  if (trimmed === '' || looksLikeCron(trimmed))
    return { ok: true, value: { type: 'CRON', cron_expression: text } }
  return parseEnglish(text, context)
}

/** Two first words in the letters of cron; or a macro; or a zone prefix, which cron refuses with a hint. */
function looksLikeCron(text: string): boolean {
  if (text.startsWith('@') || /^(CRON_)?TZ=/i.test(text)) return true
  const [first = '', second] = text.split(/\s+/, 2)
  const cronLetters = /^[\d*/,\-?()HLW#]+$/i
  return cronLetters.test(first) && (second === undefined || cronLetters.test(second))
}

function compileObject(input: ScheduleObject, context: ScheduleContext): Result<ScheduleAnswer> {
  const type = typeOf(input)
  if (!type.ok) return type
  const definition = { ...input, type: type.value }
  for (const [name, value] of Object.entries(definition)) {
    if (name === 'type') continue
    if (value === undefined) delete definition[name as keyof ScheduleObject]
    else if (!fieldsByType[type.value].includes(name)) return unknownField(name, type.value)
  }
  if (context.timezone !== undefined) definition.timezone ??= context.timezone
  const checked = checkOptions(definition)
  if (!checked.ok) return checked
  const zone = findZone(definition.timezone ?? 'UTC')
  if (!zone.ok) return zone
  if (definition.timezone !== undefined) definition.timezone = zone.value.id
  const local = definition.timezone === undefined ? null : zone.value
  const bounds = compileBounds(definition, zone.value, local, context.calendars ?? null)
  if (!bounds.ok) return bounds
  const pattern =
    type.value === 'CRON'
      ? compileCronText(definition, zone.value, bounds.value, context)
      : type.value === 'INTERVAL'
        ? compileInterval(definition, zone.value, local, bounds.value, context.createdAt)
        : compileOnce(definition, local, bounds.value, context)
  if (!pattern.ok) return pattern
  const { compiled } = pattern.value
  const mayBeEmpty = bounds.value !== null || (compiled.kind === 'cron' && compiled.years !== null)
  if (mayBeEmpty && nextSlot(compiled, -1 as EpochMs) === null) {
    return refuse('NEVER_MATCHES', 'No slot lies within these years, start_at and end_at.', {
      field: 'schedule',
    })
  }
  return { ok: true, value: { ...pattern.value, definition } }
}

function typeOf(input: ScheduleObject): Result<ScheduleType> {
  const given = input.type
  if (given !== undefined) {
    if ((SCHEDULE_TYPES as readonly unknown[]).includes(given)) return { ok: true, value: given }
    const what = typeof given === 'string' ? `"${(given as string).slice(0, 32)}"` : 'That'
    return refuse('BAD_OPTION', `${what} is not a schedule type.`, {
      field: 'type',
      allowed: SCHEDULE_TYPES.join(', '),
    })
  }
  if (input.cron_expression !== undefined) return { ok: true, value: 'CRON' }
  if (input.interval !== undefined || input.every_seconds !== undefined)
    return { ok: true, value: 'INTERVAL' }
  if (input.scheduled_time !== undefined) return { ok: true, value: 'ONE_TIME' }
  return refuse('BAD_OPTION', 'The schedule has no type.', {
    field: 'type',
    allowed: SCHEDULE_TYPES.join(', '),
  })
}

function unknownField(name: string, type: ScheduleType): Result<never> {
  return refuse('UNKNOWN_FIELD', `A schedule of type ${type} has no field "${name.slice(0, 64)}".`, {
    field: name.slice(0, 64),
    allowed: fieldsByType[type].join(', '),
  })
}

function checkOptions(definition: ScheduleObject): Result<null> {
  const texts = ['cron_expression', 'timezone', 'scheduled_time', 'interval', 'start_at', 'end_at'] as const
  for (const field of texts) {
    if (definition[field] !== undefined && typeof definition[field] !== 'string')
      return wrong(field, 'a text')
  }
  const { every_seconds, max_runs, dst_gap, dst_fold, after_completion, exclusions } = definition
  const whole = (value: unknown, max: number) =>
    Number.isInteger(value) && Number(value) >= 1 && Number(value) <= max
  if (every_seconds !== undefined && !whole(every_seconds, everySecondsMax)) {
    return wrong('every_seconds', `a whole number from 1 to ${everySecondsMax}`)
  }
  if (max_runs !== undefined && !whole(max_runs, maxRunsMax)) {
    return wrong('max_runs', `a whole number from 1 to ${maxRunsMax}`)
  }
  if (dst_gap !== undefined && !DST_GAPS.includes(dst_gap)) return wrong('dst_gap', DST_GAPS.join(' or '))
  if (dst_fold !== undefined && !DST_FOLDS.includes(dst_fold))
    return wrong('dst_fold', DST_FOLDS.join(' or '))
  if (after_completion !== undefined && typeof after_completion !== 'boolean') {
    return wrong('after_completion', 'true or false')
  }
  if (exclusions !== undefined && !Array.isArray(exclusions)) return wrong('exclusions', 'a list')
  return { ok: true, value: null }
}

function wrong(field: string, allowed: string): Result<never> {
  return refuse('BAD_OPTION', `"${field}" is ${allowed}.`, { field, allowed })
}

function compileOnce(
  definition: ScheduleAnswer['definition'],
  zone: Zone | null,
  bounds: SlotBounds | null,
  { createdAt, isStored = false }: ScheduleContext,
): Result<Compiled> {
  if (definition.type === 'IMMEDIATE') {
    const atSecond = Math.floor(createdAt / 1000)
    return { ok: true, value: { compiled: { kind: 'once', atSecond, bounds }, hashedText: null } }
  }
  if (definition.scheduled_time === undefined) return wrong('scheduled_time', 'needed for ONE_TIME')
  const at = readInstant(definition.scheduled_time, 'scheduled_time', zone)
  if (!at.ok) return at
  if (!isStored && !Number.isInteger(at.value)) {
    const text = `"${definition.scheduled_time}" has a fraction of a second, and jobs run at whole seconds.`
    return refuse('BAD_INSTANT', text, {
      field: 'scheduled_time',
      allowed: 'a whole second, such as 2026-01-31T09:00:00Z',
    })
  }
  // Never early: a stored one with a fraction, which was accepted once, is rounded up.
  const compiled: CompiledSchedule = { kind: 'once', atSecond: Math.ceil(at.value), bounds }
  return { ok: true, value: { compiled, hashedText: null } }
}

function compileBounds(
  definition: ScheduleObject,
  zone: Zone,
  local: Zone | null,
  calendars: Calendars | null,
): Result<SlotBounds | null> {
  const { start_at, end_at, max_runs, exclusions } = definition
  if (start_at === undefined && end_at === undefined && max_runs === undefined && exclusions === undefined) {
    return { ok: true, value: null }
  }
  let startSecond = Number.NEGATIVE_INFINITY
  let endSecond = Number.POSITIVE_INFINITY
  if (start_at !== undefined) {
    const start = readInstant(start_at, 'start_at', local)
    if (!start.ok) return start
    startSecond = Math.ceil(start.value)
  }
  if (end_at !== undefined) {
    const end = readInstant(end_at, 'end_at', local)
    if (!end.ok) return end
    endSecond = Math.floor(end.value)
  }
  if (endSecond < startSecond) return wrong('end_at', 'not before start_at')
  const excluded = compileExclusions(exclusions ?? [], zone, calendars)
  if (!excluded.ok) return excluded
  return { ok: true, value: { startSecond, endSecond, maxRuns: max_runs ?? null, excluded: excluded.value } }
}

function compileCronText(
  definition: ScheduleObject,
  zone: Zone,
  bounds: SlotBounds | null,
  { jobId = '', clockRule = 2 }: ScheduleContext,
): Result<Compiled> {
  const { cron_expression: text, dst_gap: dstGap, dst_fold: dstFold } = definition
  if (text === undefined) return wrong('cron_expression', 'needed for CRON')
  const suffix = `\n${zone.id}\n${dstGap ?? clockRule}\n${dstFold ?? clockRule}`
  let hashedText: string | null = null
  let shared = sharedCrons.get(text + suffix)
  if (shared === undefined) {
    const fields = parseCron(text, jobId)
    if (!fields.ok) return fields
    hashedText = fields.value.hashedText
    // A million jobs with H share the few forms that their hashes come to.
    const key = (hashedText ?? text) + suffix
    shared = hashedText === null ? undefined : sharedCrons.get(key)
    if (shared === undefined) {
      const pattern = compileCron(fields.value, zone, { dstGap, dstFold, clockRule })
      if (!pattern.ok) return pattern
      shared = pattern.value
      sharedCrons.set(key, shared)
      sharedCrons.prune()
    }
  }
  definition.cron_expression = text.trim()
  return { ok: true, value: { compiled: bounds === null ? shared : { ...shared, bounds }, hashedText } }
}

function compileInterval(
  definition: ScheduleObject,
  zone: Zone,
  local: Zone | null,
  bounds: SlotBounds | null,
  createdAt: EpochMs,
): Result<Compiled> {
  const { interval: text, every_seconds: everySeconds } = definition
  if ((text === undefined) === (everySeconds === undefined)) {
    return wrong(text === undefined ? 'interval' : 'every_seconds', 'one of interval and every_seconds')
  }
  let duration: Duration = { months: 0, days: 0, seconds: everySeconds ?? 0 }
  let repetitions: number | null = null
  let anchor = bounds === null ? Number.NEGATIVE_INFINITY : bounds.startSecond
  if (text !== undefined) {
    const interval = parseInterval(text)
    if (!interval.ok) return interval
    duration = interval.value.duration
    repetitions = interval.value.repetitions
    // Both would say where or how often the grid runs, and here there is none.
    if (definition.after_completion === true && (repetitions !== null || interval.value.start !== null)) {
      return wrong('interval', 'a plain duration with after_completion; start_at and max_runs say the rest')
    }
    if (interval.value.start !== null) {
      const start = readInstant(interval.value.start.text, 'interval', local)
      if (!start.ok) return start
      anchor = Math.ceil(start.value)
    }
  }
  // Without a start the grid begins at the creation second, and the first run comes one interval later.
  const firstIndex = anchor === Number.NEGATIVE_INFINITY ? 1 : 0
  if (firstIndex === 1) anchor = Math.floor(createdAt / 1000)
  const lastIndex = repetitions ?? Number.MAX_SAFE_INTEGER
  if (lastIndex < firstIndex) return wrong('interval', 'repeated at least once, or given a start')
  if (duration.months === 0 && duration.days === 0) {
    const stepSeconds = duration.seconds
    const compiled = {
      kind: 'elapsed',
      anchorSecond: anchor,
      stepSeconds,
      firstIndex,
      lastIndex,
      bounds,
    } as const
    return { ok: true, value: { compiled, hashedText: null } }
  }
  const anchorLocal = anchor + offsetAt(zone, anchor)
  const compiled: CalendarPattern = {
    kind: 'calendar',
    zone,
    anchorLocal,
    months: duration.months,
    seconds: duration.days * 86_400 + duration.seconds,
    firstIndex,
    lastIndex,
    runAfterGap: definition.dst_gap !== 'skip',
    bothPasses: definition.dst_fold === 'both',
    bounds: boundsFrom(bounds, anchor, anchor === instantOfLocal(zone, anchorLocal)),
  }
  return { ok: true, value: { compiled, hashedText: null } }
}

// A start in the second pass of a repeated hour: its local time first came an hour earlier, which is not to run.
function boundsFrom(bounds: SlotBounds | null, anchor: number, firstPass: boolean): SlotBounds | null {
  if (firstPass) return bounds
  const none = { endSecond: Number.POSITIVE_INFINITY, maxRuns: null, excluded: new Float64Array(0) }
  return { ...(bounds ?? none), startSecond: Math.max(anchor, bounds?.startSecond ?? anchor) }
}
