// /api/v1/calendars: days and windows under a name, which schedules exclude. A change holds for every job that names it.
import {
  Calendar,
  CalendarList,
  CalendarListQuery,
  CalendarRequest,
  calendarNameForm,
} from '@carillon/contract/calendar.ts'
import type { FastifyInstance } from 'fastify'
import type * as domain from '../../domain/jobs/calendar.ts'
import { checkEntries, type DayOrWindow } from '../../domain/schedule/exclusions.ts'
import { toRfc3339 } from '../../lib/time/epoch.ts'
import type { StorePorts } from '../../ports/store.ts'
import { ApiError } from '../http/api-error.ts'
import { behindLast, limitOf, paginationOf, readNameCursor } from '../http/cursor.ts'
import { named } from '../http/path-id.ts'
import { route } from '../http/route.ts'
import { answerWrite, type WriteDeps, writeRoute } from '../http/write.ts'

export interface CalendarDeps extends WriteDeps, Pick<StorePorts, 'calendars'> {}

const tag = 'schedules'
const namePattern = new RegExp(calendarNameForm.pattern)
const aCalendar = named('CALENDAR_NOT_FOUND', 'calendar', namePattern)
type CalendarParams = { name: string }

export function calendarRoutes(app: FastifyInstance, deps: CalendarDeps): void {
  const { calendars } = deps

  app.get<{ Querystring: CalendarListQuery }>(
    '/calendars',
    route(tag, 'read', 'The calendars, by name', { querystring: CalendarListQuery, answer: CalendarList }),
    async ({ tenantId, query }): Promise<CalendarList> => {
      const after = readNameCursor('calendars', query, namePattern)
      const page = await calendars.list({ tenantId, after, limit: limitOf(query) })
      const next = behindLast(page, page.calendars, (one) => one.name)
      return {
        calendars: page.calendars.map(toCalendar),
        pagination: paginationOf('calendars', query, { total: page.total, next }),
      }
    },
  )

  app.get<{ Params: CalendarParams }>(
    '/calendars/:name',
    route(tag, 'read', 'One calendar', { answer: Calendar }),
    async ({ tenantId, params }): Promise<Calendar> => {
      const name = aCalendar.read(params.name)
      return toCalendar(aCalendar.found(await calendars.get(tenantId, name), name))
    },
  )

  app.put<{ Params: CalendarParams; Body: CalendarRequest }>(
    '/calendars/:name',
    writeRoute(tag, 'write', 'Create or replace a calendar', {
      description: 'The calendar applies to future slots of every job that uses it.',
      params: { type: 'object', properties: { name: { type: 'string', ...calendarNameForm } } },
      body: CalendarRequest,
      response: {
        200: { ...Calendar, description: 'It existed already; this is its new definition.' },
        201: { ...Calendar, description: 'Created.' },
      },
    }),
    async (request, reply) => {
      const { tenantId, caller, params, body } = request
      const order = {
        tenantId,
        name: params.name,
        description: body.description ?? null,
        entries: requireEntries(body.entries),
        by: caller.name,
      }
      return answerWrite<Calendar>(deps, request, reply, async (stores) => {
        const outcome = await stores.calendars.put(order)
        if (outcome.kind === 'too_many') {
          throw new ApiError('TOO_MANY_CALENDARS', 'The tenant has the maximum number of calendars.')
        }
        const answer = { body: toCalendar(outcome.calendar), wake: ['changes'] as const }
        if (outcome.kind === 'replaced') return { status: 200, ...answer }
        return { status: 201, headers: { location: `/api/v1/calendars/${params.name}` }, ...answer }
      })
    },
  )

  app.delete<{ Params: CalendarParams }>(
    '/calendars/:name',
    writeRoute(tag, 'write', 'Delete a calendar', {
      description: 'Refused while a job that is not deleted uses it.',
      gone: 'It is gone.',
    }),
    async (request, reply) => {
      const name = aCalendar.read(request.params.name)
      return answerWrite<null>(deps, request, reply, async (stores) => {
        const outcome = await stores.calendars.delete(request.tenantId, name)
        if (outcome === 'not_found') throw aCalendar.notFound(name)
        if (outcome === 'in_use') throw new ApiError('CALENDAR_IN_USE', `A job uses the calendar ${name}.`)
        return { status: 204, body: null }
      })
    },
  )
}

/** Which keys go together, and whether the days exist, is the schedule engine's to say. */
function requireEntries(entries: CalendarRequest['entries']): DayOrWindow[] {
  const error = checkEntries(entries)
  if (error === null) return entries as DayOrWindow[]
  const { code, message: detail, allowed } = error
  throw new ApiError('INVALID_REQUEST', detail, [
    { pointer: `/${error.field}`, detail, code, ...(allowed === null ? {} : { allowed }) },
  ])
}

function toCalendar(calendar: domain.Calendar): Calendar {
  return {
    name: calendar.name,
    description: calendar.description,
    entries: calendar.entries.map((entry) => ({ ...entry })),
    revision: calendar.revision,
    created_at: toRfc3339(calendar.createdAt),
    created_by: calendar.createdBy,
    updated_at: toRfc3339(calendar.updatedAt),
    updated_by: calendar.updatedBy,
  }
}
