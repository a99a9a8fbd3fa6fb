// The entries of the calendars that a request or a job names. Read only when one is named: most name none.
import type { ScheduleObject } from '@carillon/contract/schedule.ts'
import type { JobView } from '../../domain/jobs/job.ts'
import {
  type Calendars as CalendarEntries,
  calendarNames,
  emptyCalendars,
} from '../../domain/schedule/exclusions.ts'
import type { Calendars } from '../../ports/calendars.ts'

type Resolver = Pick<Calendars, 'resolve'>

/** The existing calendars that a request names, so that the others are refused. */
export async function calendarsNamed(
  calendars: Resolver,
  tenantId: string,
  schedule: string | ScheduleObject | null | undefined,
): Promise<CalendarEntries> {
  const names = typeof schedule === 'object' && schedule !== null ? calendarNames(schedule) : null
  return names === null ? {} : calendars.resolve(tenantId, names)
}

/** The calendars of displayed jobs, all from the same tenant: a calendar that is gone is empty. */
export async function calendarsOf(calendars: Resolver, jobs: readonly JobView[]): Promise<CalendarEntries> {
  const active = jobs.filter(({ status }) => status === 'ACTIVE')
  const known = emptyCalendars(active.map(({ schedule }) => schedule))
  const names = Object.keys(known)
  return names.length === 0 ? known : { ...known, ...(await calendars.resolve(active[0]!.tenantId, names)) }
}
