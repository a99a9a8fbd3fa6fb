// Calendars on PostgreSQL.
import { type Calendar, calendarsMax } from '../../domain/jobs/calendar.ts'
import type { Calendars as CalendarEntries } from '../../domain/schedule/exclusions.ts'
import type {
  CalendarOrder,
  CalendarPage,
  CalendarQuery,
  Calendars,
  PutOutcome,
} from '../../ports/calendars.ts'
import { pageItemsBytesMax } from '../../ports/pages.ts'
import { type Columns, fromColumns } from '../connection/columns.ts'
import type { Transactions } from '../connection/database.ts'
import * as statements from './calendars.sql.ts'
import { noticeMs } from './job-row.ts'

export class PostgresCalendars implements Calendars {
  readonly #database: Transactions

  constructor(database: Transactions) {
    this.#database = database
  }

  async get(tenantId: string, name: string): Promise<Calendar | null> {
    const { rows } = await this.#database.query<CalendarRow>(statements.selectCalendar, [tenantId, name])
    return rows[0] === undefined ? null : fromColumns<Calendar>(rows[0])
  }

  async list({ tenantId, after, limit, bytesMax = pageItemsBytesMax }: CalendarQuery): Promise<CalendarPage> {
    const values = [tenantId, after ?? '', limit, bytesMax]
    const [listed, counted] = await Promise.all([
      this.#database.query<ListedRow>(statements.selectCalendars, values),
      this.#database.query<{ total: number }>(statements.countCalendars, [tenantId]),
    ])
    return {
      calendars: listed.rows.map(({ picked_count: _count, ...row }) => fromColumns<Calendar>(row)),
      more: (listed.rows[0]?.picked_count ?? 0) > listed.rows.length,
      total: counted.rows[0]!.total,
    }
  }

  async put({ tenantId, name, description, entries, by }: CalendarOrder): Promise<PutOutcome> {
    return this.#database.transaction(async (queries) => {
      await queries.query(statements.lockCalendars, [tenantId])
      // Separate statements: they see everything committed before we got the lock.
      const counted = await queries.query<{ total: number }>(statements.countCalendars, [tenantId])
      const found = await queries.query(statements.selectCalendar, [tenantId, name])
      if (found.count === 0 && counted.rows[0]!.total >= calendarsMax) return { kind: 'too_many' }
      const values = [tenantId, name, description, JSON.stringify(entries), by]
      const { rows } = await queries.query<CalendarRow>(statements.upsertCalendar, values)
      // Also of a new one: a job may name one that was gone.
      await queries.query(statements.noteCalendar, [tenantId, name, noticeMs])
      return { kind: found.count === 0 ? 'created' : 'replaced', calendar: fromColumns<Calendar>(rows[0]!) }
    })
  }

  async delete(tenantId: string, name: string): Promise<'deleted' | 'in_use' | 'not_found'> {
    const { rows } = await this.#database.query<DeletedRow>(statements.deleteCalendar, [tenantId, name])
    const { deleted, used, found } = rows[0]!
    if (deleted) return 'deleted'
    return found && used ? 'in_use' : 'not_found'
  }

  async resolve(tenantId: string, names: readonly string[]): Promise<CalendarEntries> {
    const values = [tenantId, names]
    const { rows } = await this.#database.query<EntriesRow>(statements.resolveCalendars, values)
    return Object.fromEntries(rows.map((row) => [row.name, row.entries]))
  }
}

interface EntriesRow {
  name: string
  entries: Calendar['entries']
}

type CalendarRow = Columns<Calendar>

type ListedRow = CalendarRow & { picked_count: number }

interface DeletedRow {
  deleted: boolean
  used: boolean
  found: boolean
}
