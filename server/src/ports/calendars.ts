// Named calendars of a tenant, as the API keeps them. Each method is one transaction.
import type { Calendar } from '../domain/jobs/calendar.ts'
import type { Calendars as CalendarEntries } from '../domain/schedule/exclusions.ts'

export interface Calendars {
  get(tenantId: string, name: string): Promise<Calendar | null>
  /** By name, behind `after`. */
  list(query: CalendarQuery): Promise<CalendarPage>
  /** Creates or replaces it. Schedulers get a note of the jobs that name it and come due soon. */
  put(order: CalendarOrder): Promise<PutOutcome>
  /** Not while a job that is not deleted names it. */
  delete(tenantId: string, name: string): Promise<'deleted' | 'in_use' | 'not_found'>
  /** The entries of these calendars; a missing calendar is not in the answer. */
  resolve(tenantId: string, names: readonly string[]): Promise<CalendarEntries>
}

export interface CalendarQuery {
  tenantId: string
  after: string | null
  limit: number
  /** The page ends before the calendar that would take it over so many bytes; it has at least one. Default: as any list. */
  bytesMax?: number
}

export interface CalendarPage {
  calendars: Calendar[]
  more: boolean
  total: number
}

export interface CalendarOrder extends Pick<Calendar, 'name' | 'description' | 'entries'> {
  tenantId: string
  /** The owner of the key that made the change. */
  by: string
}

/** too_many: there are `calendarsMax` of the tenant. */
export type PutOutcome = { kind: 'created' | 'replaced'; calendar: Calendar } | { kind: 'too_many' }
