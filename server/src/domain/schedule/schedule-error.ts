// Why a schedule was refused, as data: an API, a command or a form can show it without parsing prose.
// Refusals are expected outcomes, so they are returned and never thrown.

export const SCHEDULE_ERROR_CODES = [
  'EXPRESSION_EMPTY',
  'EXPRESSION_TOO_LONG',
  'FIELD_COUNT',
  'BAD_CHARACTER',
  'BAD_VALUE',
  'OUT_OF_RANGE',
  'BAD_STEP',
  'NOT_ALLOWED_HERE',
  'TOO_MANY_TERMS',
  'NEVER_MATCHES',
  'UNKNOWN_MACRO',
  'ZONE_IN_EXPRESSION',
  'UNKNOWN_ZONE',
  'BAD_INTERVAL',
  'BAD_INSTANT',
  'BAD_OPTION',
  'UNKNOWN_FIELD',
  'UNKNOWN_CALENDAR',
  'ENGLISH_NOT_UNDERSTOOD',
  'ENGLISH_NEEDS_TWO_SCHEDULES',
] as const
export type ScheduleErrorCode = (typeof SCHEDULE_ERROR_CODES)[number]

export interface ScheduleError {
  code: ScheduleErrorCode
  /** A whole sentence for a person. */
  message: string
  /** The cron field (`minute`) or the wire field (`end_at`, `exclusions/2/date`) that is wrong; null for the whole text. */
  field: string | null
  /** Offset of the first wrong character in the text as given, from 0; null when no character is to blame. */
  position: number | null
  /** The input that would have been accepted there. */
  allowed: string | null
  /** Texts or names close to the given one, each of them valid. */
  suggestions: string[]
}

export type Result<T> = { ok: true; value: T } | { ok: false; error: ScheduleError }

export function refuse(
  code: ScheduleErrorCode,
  message: string,
  where: Partial<Pick<ScheduleError, 'field' | 'position' | 'allowed' | 'suggestions'>> = {},
): { ok: false; error: ScheduleError } {
  const { field = null, position = null, allowed = null, suggestions = [] } = where
  return { ok: false, error: { code, message, field, position, allowed, suggestions } }
}
