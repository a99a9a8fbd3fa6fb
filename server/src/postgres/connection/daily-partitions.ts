// `slots` and `attempts` are partitioned by UTC day: made two weeks ahead, so no write waits for it; removed when
// no query reaches them any more. A write that meets a missing day creates it and continues.
import { historyDaysMax } from '../../domain/tenants/tenant.ts'
import { type EpochMs, epochMs, toRfc3339 } from '../../lib/time/epoch.ts'
import { dayMs } from '../../lib/time/units.ts'
import type { DailyPartitions } from '../../ports/daily-partitions.ts'
import * as statements from './daily-partitions.sql.ts'
import type { Database, Transactions } from './database.ts'

export type DailyTable = 'slots' | 'attempts'

const daysAhead = 14
/** A cursor is at most a minute behind its slots, and an owed slot hours; the ledger of skipped slots is `skips`. */
const slotsDaysKept = 3

export class PostgresDailyPartitions implements DailyPartitions {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async keep(now: EpochMs): Promise<void> {
    const database = this.#database
    for (const table of ['slots', 'attempts'] as const) {
      for (let day = -1; day <= daysAhead; day++)
        await database.query(statements.makeDay, [table, dayText(now + day * dayMs)])
    }
    const { rows } = await database.query<{ at: EpochMs | null }>(statements.oldestBatch, [])
    const oldestBatchMs = rows[0]?.at ?? now
    await dropDays(database, 'slots', Math.min(now, oldestBatchMs) - slotsDaysKept * dayMs)
    await dropDays(database, 'attempts', now - (historyDaysMax + 1) * dayMs)
  }
}

async function dropDays(database: Database, table: DailyTable, fromMs: number): Promise<void> {
  const first = `${table}_${dayText(fromMs).replaceAll('-', '')}`
  const { rows } = await database.query<DayRow>(statements.selectDays, [table])
  const over = rows.filter(({ name }) => name < first)
  for (const { name, state } of over) {
    // CONCURRENTLY: a plain detach would make every finish wait for the longest history query.
    if (state === 'attached')
      await database.define(`ALTER TABLE ${table} DETACH PARTITION ${name} CONCURRENTLY`)
    if (state === 'detaching') await database.define(`ALTER TABLE ${table} DETACH PARTITION ${name} FINALIZE`)
    await database.define(`DROP TABLE ${name}`)
  }
}

interface DayRow {
  name: string
  state: 'attached' | 'detaching' | 'detached'
}

/**
 * Runs a write; if it meets a day without a partition, makes it and runs the write once more. Within a transaction the
 * error has ended all of it: there `withToday` around the whole does the same.
 */
export async function withPartitions<T>(
  database: Transactions,
  table: DailyTable,
  instants: readonly number[] | 'today',
  write: () => Promise<T>,
): Promise<T> {
  if (database.isNested) return write()
  try {
    return await write()
  } catch (error) {
    if (!isMissingDay(error)) throw error
    if (instants === 'today') await database.query(statements.makeToday, [table])
    else
      for (const day of new Set(instants.map(dayText))) await database.query(statements.makeDay, [table, day])
    return write()
  }
}

/** Around a transaction of many writes, all of which are about today. */
export async function withToday<T>(database: Transactions, write: () => Promise<T>): Promise<T> {
  return withPartitions(database, 'slots', 'today', () =>
    withPartitions(database, 'attempts', 'today', write),
  )
}

/** "no partition of relation … found for row", in any language of the server. */
function isMissingDay(error: unknown): boolean {
  const { code, routine } = error as { code?: string; routine?: string }
  return code === '23514' && routine === 'ExecFindPartition'
}

function dayText(ms: number): string {
  return toRfc3339(epochMs(ms)).slice(0, 10)
}
