// Releases waiting executions of some jobs: locks the jobs, reads the state of each, and writes the decisions.
import { bufferMax } from '../../domain/jobs/job.ts'
import {
  KeyCounts,
  nameOfKey,
  supersededMessage,
  type WaitingExecution,
  type WaitingJob,
  waitingMax,
} from '../../domain/queue/release.ts'
import type { EpochMs } from '../../lib/time/epoch.ts'
import type { Released, ReleaseOrder } from '../../ports/maintenance.ts'
import type { CursorCalendars } from '../../ports/slots.ts'
import { elementsOf } from '../connection/array-literal.ts'
import { type Columns, fromColumns } from '../connection/columns.ts'
import { withPartitions } from '../connection/daily-partitions.ts'
import type { Database, Queries } from '../connection/database.ts'
import { lockCursors } from '../scheduling/slots.sql.ts'
import type { RowOf } from '../sql/item.ts'
import { lockLive } from './cancel.sql.ts'
import { cancelBatchedOfJobs, cancelLiveById, cancelLiveOfJobs, settledOf } from './cancel.ts'
import { endLeftBehind } from './end-deleted.ts'
import { keyItem, nextSlotItem, owedItem, owedSlotItem, skipItem, supersededItem } from './items.ts'
import * as statements from './maintenance.sql.ts'

type Decide = (job: WaitingJob, keys: KeyCounts) => ReleaseOrder

export async function releaseJobs(
  database: Database,
  jobIds: readonly string[],
  decide: Decide,
): Promise<Released> {
  const nothing: Released = { ready: 0, cancelled: false, planned: false, more: false }
  if (jobIds.length === 0) return nothing
  // Filled before it is read: the days of the slots are known only after the decisions.
  const slots: EpochMs[] = []
  let deleted: string[] = []
  const released = await withPartitions(database, 'slots', slots, () =>
    withPartitions(database, 'attempts', 'today', () =>
      database.transaction(async (queries) => {
        const locked = await queries.query<{ unlocked: string }>(lockCursors, [jobIds])
        const unlocked = new Set(elementsOf(locked.rows[0]!.unlocked))
        const ids = jobIds.filter((jobId) => !unlocked.has(jobId))
        if (ids.length === 0) return nothing
        const values = [ids, waitingMax, bufferMax + 1]
        const { rows } = await queries.query<WaitingRow>(statements.selectReleasable, values)
        deleted = rows.filter((row) => row.deleted).map((row) => row.job_id)
        const jobs = rows.map(toWaitingJob).toSorted((a, b) => firstRank(a) - firstRank(b))
        const keys = await lockKeys(queries, jobs)
        const decided = jobs.map((job) => ({ job, order: decide(job, keys) }))
        slots.push(...decided.flatMap(({ order }) => order.owed?.slots ?? []))
        return write(queries, decided)
      }),
    ),
  )
  const ended = await endLeftBehind(database, deleted)
  return ended.length === 0
    ? released
    : { ...released, more: true, settled: [...(released.settled ?? []), ...ended] }
}

/** The job that has waited longest is decided first: jobs share concurrency keys. */
function firstRank({ waiting }: WaitingJob): number {
  return waiting.reduce((least, { rank }) => Math.min(least, rank), Number.MAX_SAFE_INTEGER)
}

/** A key that another process decides about right now counts as full. */
async function lockKeys(queries: Queries, jobs: readonly WaitingJob[]): Promise<KeyCounts> {
  const wanted = new Map<string, { tenantId: string; key: string }>()
  for (const { tenantId, waiting } of jobs) {
    for (const { concurrencyKey } of waiting) {
      if (concurrencyKey === null) continue
      wanted.set(nameOfKey(tenantId, concurrencyKey.key), { tenantId, key: concurrencyKey.key })
    }
  }
  if (wanted.size === 0) return new KeyCounts()
  const held = new Map<string, number>(wanted.keys().map((name) => [name, Number.POSITIVE_INFINITY]))
  const { rows } = await queries.query<KeyRow>(statements.lockKeys, [keyItem.encode(wanted.values())])
  const ours = rows.map(({ tenant_id: tenantId, key }) => ({ tenantId, key }))
  // A separate statement: it sees executions released before we got the locks.
  const counted = await queries.query<KeyRow & { held: number }>(statements.countHeldKeys, [
    keyItem.encode(ours),
  ])
  for (const row of counted.rows) held.set(nameOfKey(row.tenant_id, row.key), row.held)
  return new KeyCounts(held)
}

interface Decided {
  job: WaitingJob
  order: ReleaseOrder
}

async function write(queries: Queries, decided: readonly Decided[]): Promise<Released> {
  const go = decided.flatMap(({ order }) => order.go)
  const runs = decided.flatMap(runsOf)
  const skips = decided.flatMap(skipsOf)
  const owes = decided.flatMap(owesOf)
  const plans = decided.flatMap(plansOf)
  // Batches before `live`, as everywhere.
  const cancelled = await cancelSuperseded(queries, decided, go)
  let ready = 0
  if (go.length + runs.length + skips.length + owes.length + plans.length > 0) {
    const { rows } = await queries.query<{ ready: number }>(statements.releaseWaiting, [
      go,
      owedSlotItem.encode(runs),
      skipItem.encode(skips),
      owedItem.encode(owes),
      nextSlotItem.encode(plans),
    ])
    ready = rows[0]!.ready
  }
  const waits = runs.some(({ state }) => state === 'waiting')
  const ended = cancelled.some(({ wasUnderWay, runs: isRunning }) => wasUnderWay && !isRunning)
  const settled = settledOf(cancelled.map(({ wasUnderWay: _was, ...one }) => one))
  return {
    ready,
    cancelled: cancelled.some(({ runs: isRunning }) => isRunning),
    planned: decided.some(({ order }) => order.next !== null && order.next.slotAt !== null),
    more: waits || ended,
    ...(settled.length > 0 && { settled }),
  }
}

/** CANCEL_RUNNING: cancels executions superseded by a newer slot. */
async function cancelSuperseded(queries: Queries, decided: readonly Decided[], go: readonly string[]) {
  const plans = decided.flatMap(({ job, order: { cancel } }) => (cancel === null ? [] : [{ job, ...cancel }]))
  if (plans.length === 0) return []
  const whole = plans.filter(({ underWay }) => underWay)
  const jobs = whole.map(({ job: { jobId }, bySlot }) => ({ jobId, message: supersededMessage(bySlot) }))
  const waiting = plans.flatMap((plan) => plan.waiting)
  // Before any execution of these jobs ends: afterwards waiting and released executions could not be told apart.
  const rooted = whole.filter(({ job }) => job.runsUnderWay > 0)
  const notes = rooted.map(({ job: { jobId, tenantId }, bySlot }) => {
    return { jobId, tenantId, message: supersededMessage(bySlot) }
  })
  if (notes.length > 0) await queries.query(statements.noteSuperseded, [supersededItem.encode(notes)])
  const batched = await cancelBatchedOfJobs(queries, jobs)
  await queries.query(lockLive, [[...go, ...waiting], jobs.map(({ jobId }) => jobId)])
  const live = await cancelLiveOfJobs(queries, jobs, waiting)
  for (const plan of plans) {
    if (plan.underWay) continue
    live.push(...(await cancelLiveById(queries, plan.waiting, supersededMessage(plan.bySlot))))
  }
  const older = new Set(waiting)
  return [...batched, ...live].map((one) => ({ ...one, wasUnderWay: !older.has(one.executionId) }))
}

function runsOf({ job: { jobId, version }, order: { owed, executions } }: Decided) {
  if (owed === null) return []
  const { state } = owed
  return owed.slots.map((slotMs, index) => ({ jobId, version, slotMs, state, ...executions[index]! }))
}

function skipsOf({ job: { jobId }, order: { owed } }: Decided) {
  return (owed?.skips ?? []).map(({ from, to, ...rest }) => ({
    ...{ jobId, fromSlotMs: from, toSlotMs: to },
    ...rest,
  }))
}

function owesOf({ job: { jobId }, order: { owed } }: Decided) {
  if (owed === null) return []
  return [{ jobId, fromSlotMs: owed.left?.from ?? null, nextMs: owed.left?.nextAt ?? null }]
}

/** The next slot; or, of a job that owed the one it awaits, the execution that it awaits now. */
function plansOf({
  job: { jobId, awaits },
  order: { next, owed, executions },
}: Decided): RowOf<typeof nextSlotItem>[] {
  if (awaits === null) return []
  if (next !== null) return [{ jobId, slotMs: next.slotAt, dueMs: next.dueAt, executionId: null }]
  if (owed === null || owed.slots.length === 0) return []
  return [{ jobId, slotMs: null, dueMs: null, executionId: executions[0]!.executionId }]
}

interface KeyRow {
  tenant_id: string
  key: string
}

/** The fields of a job that have a column each. */
type Same = Omit<
  WaitingJob,
  'isDeleted' | 'concurrencyKey' | 'calendars' | 'waiting' | 'owed' | 'owedDecided' | 'awaits'
>

type WaitingRow = Columns<Same> & {
  concurrency_key: string | null
  concurrency_key_limit: number | null
  calendars: CursorCalendars | null
  waiting: WaitingPart[] | null
  from_slot: EpochMs | null
  to_slot: EpochMs | null
  pace_ms: number | null
  next_at: EpochMs | null
  owed_decided: WaitingJob['owedDecided'] | null
  awaits: boolean
  deleted: boolean
  ended_at: EpochMs | null
}

type WaitingPart = Omit<WaitingExecution, 'concurrencyKey'> & { key: string | null; limit: number | null }

function toWaitingJob(row: WaitingRow): WaitingJob {
  const {
    concurrency_key: key,
    concurrency_key_limit: limit,
    calendars,
    waiting,
    owed_decided,
    ...more
  } = row
  const { from_slot: from, to_slot: to, pace_ms: paceMs, next_at: nextAt, ...others } = more
  const { awaits, deleted: isDeleted, ended_at: endedAt, ...same } = others
  return {
    ...fromColumns<Same>(same),
    isDeleted,
    concurrencyKey: key === null ? null : { key, limit: limit! },
    calendars: calendars?.entries ?? null,
    waiting: (waiting ?? []).map(toWaiting),
    owed: from === null ? null : { from, to: to!, paceMs: paceMs!, nextAt: nextAt! },
    owedDecided: owed_decided ?? [],
    awaits: awaits ? { endedAt } : null,
  }
}

function toWaiting({ key, limit, ...one }: WaitingPart): WaitingExecution {
  return { ...one, concurrencyKey: key === null ? null : { key, limit: limit! } }
}
