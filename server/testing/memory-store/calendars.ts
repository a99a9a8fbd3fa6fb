// Calendars in memory.
import { type Calendar, calendarsMax } from '../../src/domain/jobs/calendar.ts'
import { type Calendars as CalendarEntries, calendarNames } from '../../src/domain/schedule/exclusions.ts'
import { lookAheadMs } from '../../src/domain/scheduling/look-ahead.ts'
import type {
  CalendarOrder,
  CalendarPage,
  CalendarQuery,
  Calendars,
  PutOutcome,
} from '../../src/ports/calendars.ts'
import { pageItemsBytesMax } from '../../src/ports/pages.ts'
import { boundedPage } from './bounded-page.ts'
import type { CalendarRow, JobRow } from './rows.ts'
import { compareText } from './sorted-set.ts'
import type { MemoryStore } from './store.ts'

export class MemoryCalendars implements Calendars {
  readonly #store: MemoryStore

  constructor(store: MemoryStore) {
    this.#store = store
  }

  async get(tenantId: string, name: string): Promise<Calendar | null> {
    const row = this.#find(tenantId, name)
    return row === undefined ? null : toCalendar(row)
  }

  async list({ tenantId, after, limit, bytesMax = pageItemsBytesMax }: CalendarQuery): Promise<CalendarPage> {
    const all = this.#of(tenantId).toSorted((a, b) => compareText(a.name, b.name))
    const behind = all.filter(({ name }) => after === null || name > after)
    const bounds = { limit, bytesMax, payloads: false }
    const { page, more } = boundedPage(behind.map(toCalendar), bounds, (lean) => ({ lean, payload: null }))
    return { calendars: page.map(({ payload: _payload, ...calendar }) => calendar), more, total: all.length }
  }

  async put({ tenantId, name, description, entries, by }: CalendarOrder): Promise<PutOutcome> {
    const before = this.#find(tenantId, name)
    if (before === undefined && this.#of(tenantId).length >= calendarsMax) return { kind: 'too_many' }
    const now = this.#store.now()
    const row: CalendarRow = {
      tenantId,
      name,
      description,
      entries: structuredClone(entries),
      revision: (before?.revision ?? 0) + 1,
      createdAt: before?.createdAt ?? now,
      createdBy: before?.createdBy ?? by,
      updatedAt: now,
      updatedBy: by,
    }
    this.#store.calendars.set(`${tenantId} ${name}`, row)
    // Jobs due later are not yet planned by any scheduler.
    const dueBefore = now + 2 * lookAheadMs
    for (const { cursor } of this.#naming(tenantId, name)) {
      const isSoon = cursor.dueAt !== null && cursor.dueAt < dueBefore
      if (isSoon && cursor.status === 'ACTIVE') this.#store.changes[cursor.partitionId]!.add(cursor.jobId)
    }
    return { kind: before === undefined ? 'created' : 'replaced', calendar: toCalendar(row) }
  }

  async delete(tenantId: string, name: string): Promise<'deleted' | 'in_use' | 'not_found'> {
    if (this.#find(tenantId, name) === undefined) return 'not_found'
    if (this.#naming(tenantId, name).length > 0) return 'in_use'
    this.#store.calendars.delete(`${tenantId} ${name}`)
    return 'deleted'
  }

  async resolve(tenantId: string, names: readonly string[]): Promise<CalendarEntries> {
    const rows = names.flatMap((name) => this.#find(tenantId, name) ?? [])
    return Object.fromEntries(rows.map(({ name, entries }) => [name, structuredClone(entries)]))
  }

  #find(tenantId: string, name: string): CalendarRow | undefined {
    return this.#store.calendars.get(`${tenantId} ${name}`)
  }

  #of(tenantId: string): CalendarRow[] {
    return [...this.#store.calendars.values()].filter((row) => row.tenantId === tenantId)
  }

  /** Undeleted jobs that name it in their present version. */
  #naming(tenantId: string, name: string): JobRow[] {
    return [...this.#store.jobs.values()].filter((job) => {
      if (job.tenantId !== tenantId || job.deletedAt !== null) return false
      return calendarNames(job.versions.get(job.version)!.schedule)?.includes(name) ?? false
    })
  }
}

function toCalendar({ tenantId: _tenant, ...calendar }: CalendarRow): Calendar {
  return structuredClone(calendar)
}
