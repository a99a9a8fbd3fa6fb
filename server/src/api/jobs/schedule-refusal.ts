// Refusals of the schedule engine, as problem documents that point into the body.
import type { FieldError } from '@carillon/contract/problem.ts'
import { ScheduleObjectSchema, SchedulePreviewRequestSchema } from '@carillon/contract/schedule.ts'
import type { ScheduleError } from '../../domain/schedule/schedule-error.ts'
import { ApiError } from '../http/api-error.ts'

/** A request that carries a schedule. */
interface Scheduled {
  schedule?: string | { cron_expression?: string | undefined } | undefined
}

export function refuseSchedule(error: ScheduleError, body: Scheduled): ApiError {
  const { code, message, position, allowed, suggestions } = error
  const fieldError: FieldError = { pointer: pointerOf(error.field, body), detail: message, code }
  if (error.field !== null) fieldError.field = error.field
  if (position !== null) fieldError.position = position
  if (allowed !== null) fieldError.allowed = allowed
  if (suggestions.length > 0) fieldError.suggestions = suggestions
  return new ApiError('INVALID_SCHEDULE', message, [fieldError])
}

/** The engine names a field of the body, of the schedule, or of the cron text; a pointer needs to know which. */
function pointerOf(field: string | null, { schedule }: Scheduled): string {
  // A field may say a place within it: exclusions/2/date.
  const name = field === null ? '' : field.split('/')[0]!
  if (Object.hasOwn(SchedulePreviewRequestSchema.properties, name)) return `/${field}`
  if (typeof schedule === 'string') return '/schedule'
  if (Object.hasOwn(ScheduleObjectSchema.properties, name)) return `/schedule/${field}`
  return schedule?.cron_expression === undefined ? '/schedule' : '/schedule/cron_expression'
}
