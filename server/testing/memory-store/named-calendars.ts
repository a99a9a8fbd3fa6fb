// The content of the calendars that a schedule names, in memory.
import type { JobVersion } from '../../src/domain/jobs/job.ts'
import { calendarNames } from '../../src/domain/schedule/exclusions.ts'
import type { CursorCalendars } from '../../src/ports/slots.ts'
import type { MemoryStore } from './store.ts'

/** Null: it names none. */
export function calendarsOf(
  store: MemoryStore,
  { tenantId, schedule }: Pick<JobVersion, 'tenantId' | 'schedule'>,
): CursorCalendars | null {
  const names = calendarNames(schedule)
  if (names === null) return null
  const entries = names.map(
    (name) => [name, store.calendars.get(`${tenantId} ${name}`)?.entries ?? []] as const,
  )
  return { entries: Object.fromEntries(entries), revision: revisionOf(store, tenantId, names) }
}

/** Grows with each change of a named calendar; a deleted calendar counts nothing. */
export function revisionOf(store: MemoryStore, tenantId: string, names: readonly string[]): number {
  return names.reduce((sum, name) => sum + (store.calendars.get(`${tenantId} ${name}`)?.revision ?? 0), 0)
}
