// The slots of a job on PostgreSQL: executions of slots, and ranges of skips.
import { type LiveState, type Outcome, statusOfLive, statusOfOutcome } from '../../domain/queue/execution.ts'
import { type EpochMs, epochMs } from '../../lib/time/epoch.ts'
import { hourMs } from '../../lib/time/units.ts'
import { totalMax } from '../../ports/executions.ts'
import type {
  Lateness,
  SkipRange,
  SlotBounds,
  SlotCount,
  SlotExecution,
  SlotLedger,
  SlotPage,
  SlotQuery,
} from '../../ports/slot-ledger.ts'
import { type Columns, fromColumns } from '../connection/columns.ts'
import type { Database } from '../connection/database.ts'
import { selectRetention } from './executions.sql.ts'
import * as statements from './slot-ledger.sql.ts'

/** Attempts that one page looks at: at most about 40 ms. */
const recordedMax = 10_000

export class PostgresSlotLedger implements SlotLedger {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async listSkips(query: SlotQuery): Promise<SkipRange[] | null> {
    const { tenantId, jobId, from, to, limit, order } = query
    const job = await this.#database.query(selectRetention, [tenantId, jobId])
    if (job.count === 0) return null
    const statement = order === 'asc' ? statements.listSkipsUp : statements.listSkipsDown
    const { rows } = await this.#database.query<SkipRow>(statement, [jobId, from, to, limit])
    return rows.map(toSkipRange)
  }

  async listSlots(query: SlotQuery & Lateness): Promise<SlotPage | null> {
    const { tenantId, jobId, from, to, limit, order } = query
    const statement = order === 'asc' ? statements.listSlotsUp : statements.listSlotsDown
    // In descending order, slots that were made long after their time come first; for a job that fires every second they
    // would use up all rows read.
    const lateMs = order === 'asc' ? query.lateMs : Math.min(query.lateMs, hourMs)
    const values = [jobId, from, to, limit, tenantId, recordedMax, lateMs]
    const { rows } = await this.#database.query<SlotRow>(statement, values)
    const first = rows[0]
    if (first === undefined) return null
    const found = first.execution_id === null ? [] : (rows as FoundSlot[])
    const end = endOf(query, found, first.end_id)
    const isKnown = (slot: EpochMs) => end === null || (order === 'asc' ? slot <= end : slot >= end)
    return {
      executions: found.filter(({ slot }) => isKnown(slot)).flatMap(toSlotExecution),
      end,
      recordedAt: first.recorded_at,
      owed: owedOf(first),
    }
  }

  async countSlots({ tenantId, jobId, from, to, lateMs }: SlotBounds & Lateness): Promise<SlotCount | null> {
    const values = [jobId, from, to, totalMax + 1, tenantId, recordedMax + 1, lateMs]
    const counted = await this.#database.query<CountRow>(statements.countSlots, values)
    const count = counted.rows[0]
    if (count === undefined) return null
    const edges = await this.#database.query<SkipRow>(statements.selectSkipEdges, [jobId, from, to])
    const { executions, skipped, seen } = count
    const isCut = seen > recordedMax || executions > totalMax || skipped > totalMax
    return { executions, skipped, capped: isCut, edges: edges.rows.map(toSkipRange) }
  }
}

/** How far, in the order asked for, all is known. */
function endOf(
  { from, limit, order, lateMs }: SlotQuery & Lateness,
  found: readonly FoundSlot[],
  endId: string | null,
): EpochMs | null {
  const full = found.length === limit ? found.at(-1)!.slot : null
  if (endId === null) return full
  const madeAt = Number.parseInt(endId.replaceAll('-', '').slice(0, 12), 16)
  // An execution made earlier has an earlier slot.
  if (order !== 'asc') return Math.max(full ?? madeAt, madeAt) as EpochMs
  // An execution made later may still have an earlier slot, by as much as it is late. A job that fires every second
  // with a wide misfire window still makes progress, by a quarter of the range read.
  const known = epochMs(Math.max(madeAt - lateMs, from + (madeAt - from) / 4))
  return Math.min(full ?? known, known) as EpochMs
}

function toSlotExecution(row: FoundSlot): SlotExecution[] {
  const { slot, execution_id: executionId, state, attempt, cancelled, outcome } = row
  // Its record is past its retention.
  if (state === null && outcome === null) return []
  const status = state === null ? statusOfOutcome(outcome!) : statusOfLive(state, attempt, cancelled)
  return [{ slot, executionId, status }]
}

export function owedOf({ owed_from: from, owed_to: to }: OwedRow): { from: EpochMs; to: EpochMs } | null {
  return from === null || to === null ? null : { from, to }
}

export interface OwedRow {
  owed_from: EpochMs | null
  owed_to: EpochMs | null
}

interface SlotRow extends OwedRow {
  recorded_at: EpochMs | null
  /** The last of as many attempts as were to be looked at; null: there were fewer. */
  end_id: string | null
  /** Null: there is none. */
  execution_id: string | null
}

interface FoundSlot extends SlotRow {
  execution_id: string
  slot: EpochMs
  /** Null once it has ended. */
  state: LiveState | null
  attempt: number
  cancelled: boolean
  outcome: Outcome | null
}

interface CountRow {
  executions: number
  /** Attempts that were looked at. */
  seen: number
  skipped: number
}

type SkipRow = Columns<Omit<SkipRange, 'pause'>> & {
  paused_at: EpochMs | null
  paused_by: string | null
  pause_reason: string | null
}

function toSkipRange({ paused_at: since, paused_by: by, pause_reason: reason, ...row }: SkipRow): SkipRange {
  const pause = since === null || by === null ? null : { since, by, reason }
  return { ...fromColumns<Omit<SkipRange, 'pause'>>(row), pause }
}
