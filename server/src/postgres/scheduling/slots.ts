// The scheduler's port on PostgreSQL.
import { bufferRoom } from '../../domain/jobs/job.ts'
import { batchIdOf } from '../../domain/queue/execution.ts'
import { latePlansOf } from '../../domain/scheduling/late-plan.ts'
import { joinedMax } from '../../domain/scheduling/misfire.ts'
import type { EpochMs } from '../../lib/time/epoch.ts'
import { hourMs } from '../../lib/time/units.ts'
import type { DirectWorker } from '../../ports/direct-dispatch.ts'
import {
  type Cursor,
  type FireAnswer,
  type FiredAndClaimed,
  isDecidedAlone,
  type LoadRequest,
  type Slots,
  type SlotToFire,
} from '../../ports/slots.ts'
import { arrayLiteral, elementsOf, textArrayLiteral } from '../connection/array-literal.ts'
import type { Columns } from '../connection/columns.ts'
import { withPartitions } from '../connection/daily-partitions.ts'
import type { Database, Queries } from '../connection/database.ts'
import { type BatchClaimRow, toClaimedBatch } from '../queue/claim-rows.ts'
import type { WireOf } from '../sql/item.ts'
import * as fire from './fire-slots.sql.ts'
import { cursorItem, type skipItem, type slotItem } from './items.ts'
import * as statements from './slots.sql.ts'

/** A recorded slot is in the past on every clock with at most this error. */
const clockErrorMs = hourMs

export class PostgresSlots implements Slots {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async load({ partitions, dueBefore, limit }: LoadRequest): Promise<Cursor[]> {
    const asked = partitions.map(({ partitionId, after }) => ({
      partitionId,
      afterDueMs: after?.dueAt ?? null,
      afterJobId: after?.jobId ?? null,
    }))
    const values = [cursorItem.encode(asked), dueBefore, limit, dueBefore + clockErrorMs]
    const { rows } = await this.#database.query<CursorRow>(statements.loadCursors, values)
    return rows.map(toCursor)
  }

  async takeChanges(partitionIds: readonly number[], limit: number): Promise<Cursor[]> {
    const taken = await this.#database.query<{ job_id: string }>(statements.takeNotes, [partitionIds, limit])
    if (taken.count === 0) return []
    // If this fails the notes are gone: the caller then loads everything again.
    const ids = taken.rows.map((row) => row.job_id)
    const { rows } = await this.#database.query<CursorRow>(statements.loadNoted, [ids, farFutureMs])
    return rows.map(toCursor)
  }

  async fire(slots: readonly SlotToFire[]): Promise<FireAnswer[]> {
    return this.#inDays(slots, () => this.#database.transaction((queries) => fireAll(queries, slots)))
  }

  async fireAndClaim(slots: readonly SlotToFire[], direct: DirectWorker): Promise<FiredAndClaimed> {
    const { workerId, route } = direct
    const batchIds = [...new Set(slots.map(({ executionId }) => batchIdOf(executionId)))]
    return this.#inDays(slots, () =>
      this.#database.transaction(async (queries) => {
        // The worker before the cursors, as everywhere.
        const [, answers] = await Promise.all([
          queries.query(statements.lockDirectWorker, [workerId]),
          fireAll(queries, slots),
        ])
        const values = [workerId, route, batchIds]
        const { rows } = await queries.query<BatchClaimRow>(statements.claimFired, values, 'last')
        return { answers, batches: rows.map(toClaimedBatch) }
      }),
    )
  }

  #inDays<T>(slots: readonly SlotToFire[], work: () => Promise<T>): Promise<T> {
    const instants = slots.map(({ slot }) => slot)
    return withPartitions(this.#database, 'slots', instants, work)
  }
}

async function fireAll(queries: Queries, slots: readonly SlotToFire[]): Promise<FireAnswer[]> {
  if (slots.length === 0) return []
  const jobIds = [...new Set(slots.map(({ jobId }) => jobId))]
  const { answered, fast, others } = sortSlots(slots)
  // Both are sent at once: a job that could not be locked is not fired, and both statements return it.
  const [locked, left] = await Promise.all([
    queries.query<{ unlocked: string }>(statements.lockCursors, [arrayLiteral(jobIds, (jobId) => jobId)]),
    fast.length === 0 ? [] : fireFast(queries, fast, recordedFrom(slots)),
  ])
  const lockedByOthers = new Set(elementsOf(locked.rows[0]!.unlocked))
  const answers = [...answered]
  const unlocked: SlotToFire[] = []
  const items: WireOf<typeof slotItem>[] = []
  for (const { one, plan, slotsBefore } of [...left.map(alone), ...others]) {
    if (lockedByOthers.has(one.jobId)) unlocked.push(one)
    else items.push(toItem(one, plan, slotsBefore))
  }
  if (unlocked.length > 0) answers.push(...(await answerUnlocked(queries, unlocked)))
  if (items.length === 0) return answers
  const fired = await queries.query<AnswerRow>(fire.fireSlots, [JSON.stringify(items), recordedFrom(slots)])
  for (const { job_id: jobId, slot_ms: slot, answer } of fired.rows) answers.push({ jobId, slot, answer })
  return answers
}

interface Judged {
  one: SlotToFire
  plan: { from: EpochMs; to: EpochMs } | undefined
  /** Earlier slots of the same job in the same fire. */
  slotsBefore: number
}

const alone = (one: SlotToFire): Judged => ({ one, plan: undefined, slotsBefore: 0 })

/** Sorts slots into already answered ones, likely fast-path ones, and ones that need the full statement. */
function sortSlots(slots: readonly SlotToFire[]) {
  const answered: FireAnswer[] = []
  const fast: SlotToFire[] = []
  const others: Judged[] = []
  const named = new Set<string>()
  // Such a job gets one slot decided at a time: the statement does not see the executions that it inserts.
  const jobs = new Map<string, number>()
  const plans = latePlansOf(slots)
  for (const one of slots) {
    const { jobId, slot } = one
    const key = `${jobId} ${slot}`
    const slotsBefore = jobs.get(jobId) ?? 0
    const plan = plans.get(jobId)
    if (named.has(key)) answered.push({ jobId, slot, answer: 'already_recorded' })
    else if (isDecidedAlone(one) && slotsBefore > 0) answered.push({ jobId, slot, answer: 'busy' })
    else if (isFastPath(one) && plan === undefined && slotsBefore === 0) fast.push(one)
    else others.push({ one, plan, slotsBefore })
    named.add(key)
    jobs.set(jobId, slotsBefore + 1)
  }
  return { answered, fast, others }
}

/** Whether the slot simply fires and moves its cursor. */
function isFastPath(one: SlotToFire): boolean {
  const { overlapPolicy, move } = one
  if (overlapPolicy !== 'SKIP' && overlapPolicy !== 'ALLOW') return false
  if (one.limited || one.ownRow || one.late || one.owedTo !== null || one.plannedAt !== undefined)
    return false
  if (one.skip !== null || one.skipped.length > 0 || one.runs !== null || one.calendars !== null) return false
  if (one.graphId !== null || one.runId !== null) return false
  return move === null || (move.awaits !== true && move.decidedTo === one.slot)
}

/** Returns the slots that need the full statement. */
async function fireFast(
  queries: Queries,
  slots: readonly SlotToFire[],
  from: number | null,
): Promise<SlotToFire[]> {
  const batches = new Map<string, { number: number; one: SlotToFire }>()
  const batchNumbers: number[] = []
  const positions: number[] = []
  for (const one of slots) {
    const id = one.executionId.slice(0, 34)
    const batch = batches.get(id) ?? { number: batches.size + 1, one }
    batches.set(id, batch)
    batchNumbers.push(batch.number)
    positions.push(Number.parseInt(one.executionId.slice(34), 16))
  }
  const firsts = [...batches.values()]
  const { rows } = await queries.query<{ number: number }>(fire.fireFast, [
    arrayLiteral(slots, ({ jobId }) => jobId),
    arrayLiteral(slots, ({ version }) => version),
    arrayLiteral(slots, ({ slot }) => slot),
    arrayLiteral(slots, ({ dueAt }) => dueAt),
    arrayLiteral(slots, ({ executionId }) => executionId),
    arrayLiteral(positions, (position) => position),
    arrayLiteral(batchNumbers, (number) => number),
    arrayLiteral(slots, ({ overlapPolicy }) => (overlapPolicy === 'ALLOW' ? 't' : 'f')),
    arrayLiteral(slots, ({ move }) => (move === null ? 'f' : 't')),
    arrayLiteral(slots, ({ move }) => move?.slotAt ?? 'NULL'),
    arrayLiteral(slots, ({ move }) => move?.dueAt ?? 'NULL'),
    arrayLiteral(slots, ({ recordedAt, slot }) =>
      recordedAt === null ? 'NULL' : Math.min(recordedAt, slot),
    ),
    arrayLiteral([...batches.keys()], (id) => `${id}00`),
    textArrayLiteral(firsts, ({ one }) => one.route),
    textArrayLiteral(firsts, ({ one }) => one.lane),
    arrayLiteral(firsts, ({ one }) => one.priority),
    from,
  ])
  return rows.map(({ number }) => slots[number - 1]!)
}

/** Where the latest recorded slot of each of these jobs is at the earliest; null: of some nothing is known. */
function recordedFrom(slots: readonly SlotToFire[]): number | null {
  let from = Number.POSITIVE_INFINITY
  for (const { recordedAt, slot } of slots) {
    if (recordedAt === null) return null
    from = Math.min(from, recordedAt, slot)
  }
  return from
}

const farFutureMs = Date.UTC(9999, 0, 1)

/** A cursor that is locked is worth another try; one that is not there is not. */
async function answerUnlocked(queries: Queries, unlocked: readonly SlotToFire[]): Promise<FireAnswer[]> {
  const ids = JSON.stringify(unlocked.map(({ jobId }) => jobId))
  const { rows } = await queries.query<{ job_id: string }>(statements.selectMissingCursors, [ids])
  const missing = new Set(rows.map((row) => row.job_id))
  return unlocked.map(({ jobId, slot }) => ({ jobId, slot, answer: missing.has(jobId) ? 'stale' : 'busy' }))
}

/** Absent fields are false or null. */
function toItem(
  one: SlotToFire,
  plan: { from: EpochMs; to: EpochMs } | undefined,
  slotsBefore: number,
): WireOf<typeof slotItem> {
  const { jobId, version, slot, executionId, overlapPolicy, skipped, runs, calendars, joins } = one
  const room = bufferRoom[overlapPolicy]
  const item: WireOf<typeof slotItem> = {
    j: jobId,
    v: version,
    s: slot,
    e: executionId,
    o: Number.parseInt(executionId.slice(34), 16),
    r: one.route,
    l: one.lane,
    p: one.priority,
  }
  if (one.dueAt !== slot) item.d = one.dueAt
  if (overlapPolicy === 'ALLOW') item.al = true
  if (one.limited) item.li = true
  const mayWait = one.limited || (room > 0 && overlapPolicy !== 'ALLOW')
  if (mayWait) item.bm = room
  if (mayWait || one.ownRow || one.runId !== null) item.ro = true
  if (one.heldBack !== undefined) [item.hb, item.hs] = [true, one.heldBack.skipAt]
  if (slotsBefore > 0 && one.limited) item.nt = slotsBefore
  if (one.late) item.la = true
  if (one.plannedAt !== undefined) item.na = one.plannedAt
  if (one.owedTo !== null) item.ow = one.owedTo
  if (one.owedPaceMs > 0) item.op = one.owedPaceMs
  if (one.previousSlot !== null) item.ps = one.previousSlot
  if (one.skip !== null) item.si = one.skip
  if (skipped.length > 0)
    item.sk = skipped.map(
      ({ from, to, count, reason }): WireOf<typeof skipItem> => ({ f: from, t: to, c: count, r: reason }),
    )
  if (runs !== null) [item.rm, item.rc] = [runs.max, runs.count]
  if (calendars !== null) [item.cn, item.cr] = [calendars.names, calendars.revision]
  if (one.graphId !== null) item.g = one.graphId
  if (one.runId !== null) item.ru = one.runId
  const move = one.move ?? joins
  if (one.move !== null) item.mv = true
  if (joins !== undefined) item.jm = joinedMax
  if (move !== undefined) {
    item.ms = move.slotAt
    item.md = move.dueAt
    item.mz = move.decidedTo
  }
  if (move?.awaits === true) item.aw = true
  if (plan !== undefined) [item.pf, item.pt] = [plan.from, plan.to]
  return item
}

/** A scheduler loads many at once: `toCursor` is a hot path. */
type CursorRow = Columns<Cursor>

interface AnswerRow {
  job_id: string
  slot_ms: EpochMs
  answer: FireAnswer['answer']
}

function toCursor(row: CursorRow): Cursor {
  return {
    jobId: row.job_id,
    partitionId: row.partition_id,
    tenantId: row.tenant_id,
    version: row.version,
    slotAt: row.slot_at,
    dueAt: row.due_at,
    recordedAt: row.recorded_at,
    schedule: row.schedule,
    anchorAt: row.anchor_at,
    priority: row.priority,
    overlapPolicy: row.overlap_policy,
    misfirePolicy: row.misfire_policy,
    misfireWindowSeconds: row.misfire_window_seconds,
    jitterSeconds: row.jitter_seconds,
    route: row.route,
    limited: row.limited,
    ownRows: row.own_rows,
    runs: row.runs,
    calendars: row.calendars,
    graphId: row.graph_id,
  }
}
