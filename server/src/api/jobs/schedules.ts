// POST /api/v1/schedules/preview: the meaning of a schedule and its next runs, before anything is saved.
import {
  SchedulePreviewReplySchema,
  type SchedulePreviewRequest,
  SchedulePreviewRequestSchema,
} from '@carillon/contract/schedule.ts'
import type { FastifyInstance } from 'fastify'
import { previewSchedule } from '../../domain/schedule/preview.ts'
import type { Calendars } from '../../ports/calendars.ts'
import type { Clock } from '../../ports/clock.ts'
import { route } from '../http/route.ts'
import { readBodyWords } from '../http/words.ts'
import { calendarsNamed } from './named-calendars.ts'
import { refuseSchedule } from './schedule-refusal.ts'

export interface ScheduleDeps {
  clock: Clock
  calendars: Pick<Calendars, 'resolve'>
}

export function scheduleRoutes(app: FastifyInstance, deps: ScheduleDeps): void {
  app.post<{ Body: SchedulePreviewRequest }>(
    '/schedules/preview',
    route('schedules', 'read', 'A schedule as a sentence, and its next slots', {
      body: SchedulePreviewRequestSchema,
      answer: SchedulePreviewReplySchema,
      options: { preValidation: readBodyWords(SchedulePreviewRequestSchema) },
    }),
    async ({ body, caller, tenantId }) => {
      const calendars = await calendarsNamed(deps.calendars, tenantId, body.schedule)
      // Judged by the tier of the caller, unless the request asks about another interval.
      const asked = { min_interval_seconds: caller.tier.intervalSecondsMin, ...body }
      const preview = previewSchedule(asked, { now: deps.clock.databaseNow(), calendars })
      if (!preview.ok) throw refuseSchedule(preview.error, body)
      return preview.value
    },
  )
}
