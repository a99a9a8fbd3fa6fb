// POST /api/v1/schedules/preview: what a schedule means and when it would run, before anything is saved.
import type { FieldError } from '@carillon/contract/problem.ts'
import {
  ScheduleObjectSchema,
  SchedulePreviewReplySchema,
  type SchedulePreviewRequest,
  SchedulePreviewRequestSchema,
} from '@carillon/contract/schedule.ts'
import type { FastifyInstance } from 'fastify'
import { previewSchedule } from '../../domain/schedule/preview.ts'
import type { ScheduleError } from '../../domain/schedule/schedule-error.ts'
import type { Clock } from '../../ports/clock.ts'
import { ApiError } from '../api-error.ts'
import { problemResponses } from '../openapi.ts'

export function scheduleRoutes(app: FastifyInstance, deps: { clock: Clock }): void {
  app.post<{ Body: SchedulePreviewRequest }>(
    '/schedules/preview',
    {
      schema: {
        tags: ['schedules'],
        summary: 'What a schedule means and when it would run next',
        security: [{ bearer: [] }],
        body: SchedulePreviewRequestSchema,
        response: { 200: SchedulePreviewReplySchema, ...problemResponses },
      },
    },
    async ({ body }) => {
      const preview = previewSchedule(body, { now: deps.clock.databaseNow() })
      if (!preview.ok) throw refuseSchedule(preview.error, body)
      return preview.value
    },
  )
}

function refuseSchedule(error: ScheduleError, body: SchedulePreviewRequest): ApiError {
  const { code, message, position, allowed, suggestions } = error
  const fieldError: FieldError = { pointer: pointerOf(error.field, body), detail: message, code }
  if (error.field !== null) fieldError.field = error.field
  if (position !== null) fieldError.position = position
  if (allowed !== null) fieldError.allowed = allowed
  if (suggestions.length > 0) fieldError.suggestions = suggestions
  return new ApiError('INVALID_SCHEDULE', message, [fieldError])
}

/** The engine names a field of the body, of the schedule, or of the cron text; a pointer needs to know which. */
function pointerOf(field: string | null, { schedule }: SchedulePreviewRequest): string {
  if (field !== null && field in SchedulePreviewRequestSchema.properties) return `/${field}`
  if (typeof schedule === 'string') return '/schedule'
  if (field !== null && field in ScheduleObjectSchema.properties) return `/schedule/${field}`
  return schedule.cron_expression === undefined ? '/schedule' : '/schedule/cron_expression'
}
