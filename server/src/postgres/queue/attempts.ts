// Attempts in progress on PostgreSQL. Batches are queried first, then, in a later statement, `live`: executions that
// leave a batch go there, so none is missed between the two.
import type {
  AttemptEnding,
  AttemptMark,
  Attempts,
  AttemptUpdate,
  HeldAttempt,
  ReportAnswer,
  UpdateAnswer,
} from '../../ports/attempts.ts'
import { type Columns, fromColumns } from '../connection/columns.ts'
import { withPartitions } from '../connection/daily-partitions.ts'
import type { Queries, Transactions } from '../connection/database.ts'
import type { WireOf } from '../sql/item.ts'
import * as statements from './attempts.sql.ts'
import { type EndingWire, type MarkWire, toEndingItem } from './ending-item.ts'
import { recordedItem, type updateItem } from './items.ts'

export class PostgresAttempts implements Attempts {
  readonly #database: Transactions

  constructor(database: Transactions) {
    this.#database = database
  }

  async find(executionIds: readonly string[]): Promise<HeldAttempt[]> {
    if (executionIds.length === 0) return []
    const { rows } = await this.#database.query<HeldRow>(statements.selectHeld, [executionIds])
    return rows.map(toHeld)
  }

  async report(reports: readonly AttemptEnding[]): Promise<ReportAnswer> {
    // Said twice at once it would be recorded twice: the statement does not see its own rows.
    const once = [...Map.groupBy(reports, nameOf).values()].map(([first]) => first!)
    if (once.length === 0) return { refused: [], cancelled: [] }
    return withPartitions(this.#database, 'attempts', 'today', () =>
      this.#database.transaction((queries) => report(queries, once)),
    )
  }

  async update(updates: readonly AttemptUpdate[]): Promise<UpdateAnswer[]> {
    const merged = mergeUpdates(updates)
    if (merged.length === 0) return []
    const held = await this.#database.transaction((queries) => update(queries, merged))
    const toStatus = (executionId: string): UpdateAnswer['status'] => {
      const isCancelled = held.get(executionId)
      return isCancelled === undefined ? 'gone' : isCancelled ? 'cancelled' : 'updated'
    }
    return updates.map(({ executionId }) => ({ executionId, status: toStatus(executionId) }))
  }
}

async function report(queries: Queries, reports: readonly AttemptEnding[]): Promise<ReportAnswer> {
  const batched = await end(queries, reports, statements.reportBatched)
  const live = await end(queries, batched.missing, statements.reportLive)
  const recorded = await findRecorded(queries, live.missing)
  const refused = live.missing.filter(({ executionId }) => !recorded.has(executionId))
  return {
    refused: refused.map(({ executionId }) => executionId),
    cancelled: [...batched.cancelled, ...live.cancelled],
  }
}

async function end(
  queries: Queries,
  reports: readonly AttemptEnding[],
  statement: typeof statements.reportBatched,
): Promise<{ missing: AttemptEnding[]; cancelled: string[] }> {
  if (reports.length === 0) return { missing: [], cancelled: [] }
  const items = JSON.stringify(reports.map(toReportItem))
  const { rows } = await queries.query<EndRow>(statement, [items])
  const missing = new Set(rows.filter(({ what }) => what === 'missing').map(({ id }) => id))
  const cancelled = rows.filter(({ what }) => what === 'cancelled').map(({ id }) => id)
  return { missing: reports.filter(({ executionId }) => missing.has(executionId)), cancelled }
}

async function findRecorded(queries: Queries, reports: readonly AttemptEnding[]): Promise<Set<string>> {
  if (reports.length === 0) return new Set()
  const asked = reports.map(({ ending, ...mark }) => ({
    ...mark,
    outcome: ending.kind === 'ended' ? ending.end.outcome : null,
  }))
  const { rows } = await queries.query<{ execution_id: string }>(statements.selectRecorded, [
    recordedItem.encode(asked),
  ])
  return new Set(rows.map((row) => row.execution_id))
}

/** Returns the attempts that are held as stated, and whether each has been cancelled. */
async function update(queries: Queries, updates: readonly AttemptUpdate[]): Promise<Map<string, boolean>> {
  const ids = updates.map(({ executionId }) => executionId)
  const holders = await queries.query<{ worker_id: string }>(statements.lockHolders, [ids])
  const states = new Map<string, boolean>()
  if (holders.count > 0) {
    const workerIds = holders.rows.map((row) => row.worker_id)
    const left = await queries.query<NotedRow>(statements.noteBatched, [toUpdateItems(updates), workerIds])
    for (const row of left.rows) states.set(row.execution_id, row.cancelled)
  }
  const alone = updates.filter(({ executionId }) => !states.has(executionId))
  if (alone.length === 0) return states
  const { rows } = await queries.query<NotedRow>(statements.noteLive, [toUpdateItems(alone)])
  for (const row of rows) states.set(row.execution_id, row.cancelled)
  return states
}

/** The later of two updates of an attempt wins; fields that only the earlier one has are kept. */
function mergeUpdates(updates: readonly AttemptUpdate[]): AttemptUpdate[] {
  const merged = new Map<string, AttemptUpdate>()
  for (const one of updates) {
    const name = nameOf(one)
    const before = merged.get(name)
    merged.set(name, { ...before, ...one, alive: one.alive || before?.alive === true })
  }
  return [...merged.values()]
}

function nameOf({ executionId, attempt, fence }: AttemptMark): string {
  return `${executionId} ${attempt} ${fence}`
}

function toReportItem({ ending, ...mark }: AttemptEnding): MarkWire & EndingWire {
  return {
    ...toMarkItem(mark),
    ...toEndingItem(ending.kind === 'unstarted' ? { ...ending, host: null } : ending),
  }
}

function toUpdateItems(updates: readonly AttemptUpdate[]): string {
  return JSON.stringify(
    updates.map((one): MarkWire & WireOf<typeof updateItem> => ({
      ...toMarkItem(one),
      alive: one.alive,
      s: one.startedAt,
      progress: one.progress,
      said: one.message,
      // As text: a JSON null is something to keep too.
      ...(one.checkpoint !== undefined && { checkpoint: JSON.stringify(one.checkpoint) }),
    })),
  )
}

function toMarkItem({ executionId: e, attempt: n, fence: f, workerId: u }: AttemptMark): MarkWire {
  return u === null ? { e, n, f } : { e, n, f, u }
}

function toHeld({ checkpoint, ...row }: HeldRow): HeldAttempt {
  return {
    ...fromColumns<Omit<HeldAttempt, 'checkpoint'>>(row),
    ...(checkpoint !== null && { checkpoint: JSON.parse(checkpoint) as unknown }),
  }
}

type HeldRow = Columns<Omit<HeldAttempt, 'checkpoint'>> & { checkpoint: string | null }

interface EndRow {
  id: string
  what: 'missing' | 'cancelled'
}

interface NotedRow {
  execution_id: string
  cancelled: boolean
}
