// Jobs on PostgreSQL. Creates and triggers that come together are committed together.
import { countsAsActive } from '../../domain/jobs/active-jobs.ts'
import type { JobStatus } from '../../domain/jobs/job.ts'
import type { JobFilter } from '../../domain/jobs/operation.ts'
import { triggerLevels } from '../../domain/queue/rank.ts'
import { listTriggers, type TriggerBatch, triggersWaitingMax } from '../../domain/queue/trigger-batches.ts'
import { GroupCommit } from '../../lib/group-commit.ts'
import { lastId } from '../../lib/id.ts'
import type { Sql } from '../../lib/sql.ts'
import type { EpochMs } from '../../lib/time/epoch.ts'
import { totalMax } from '../../ports/executions.ts'
import type {
  ActiveJobsLimit,
  BackfillOrder,
  CreateOutcome,
  JobPage,
  JobQuery,
  Jobs,
  NewJob,
  Total,
  TriggerManyOrder,
  TriggerManyOutcome,
  TriggerOrder,
  TriggerOutcome,
} from '../../ports/jobs.ts'
import { type Columns, fromColumns } from '../connection/columns.ts'
import { withPartitions } from '../connection/daily-partitions.ts'
import type { Queries, Transactions } from '../connection/database.ts'
import { generation } from '../connection/generation.ts'
import { createDependent } from '../graphs/job-graph.ts'
import { type LiveClaimRow, type SingleRow, toClaimedLive, toClaimedSingle } from '../queue/claim-rows.ts'
import type { WireOf } from '../sql/item.ts'
import { changeJob } from './change-job.ts'
import { type CountedCreate, createCounted, findRefusals } from './create-counted.ts'
import { backfillItem, jobKeyItem, type triggerItem } from './items.ts'
import { type JobRow, noticeMs, toJobItem, toJobView } from './job-row.ts'
import * as statements from './jobs.sql.ts'
import { type ListedRow, toListedJob } from './listed-job.ts'
import * as triggers from './triggers.sql.ts'

/** Rows that one search looks at: about 10 ms. */
const searchedMax = 25_000

/** Larger groups do not get faster, and their first item waits longer. */
const groupLimits = { itemsMax: 200, weightMax: 4 * 1024 * 1024, waitingMax: 10_000 }

type Created = 'created' | 'key_taken' | 'tenant_deleted'

interface Trigger {
  order: TriggerOrder
  payload: string | null
}

export class PostgresJobs implements Jobs {
  readonly #database: Transactions
  readonly #creates: GroupCommit<{ job: NewJob; text: string }, Created>
  /** Of tenants with a limit on active jobs. */
  readonly #countedCreates: GroupCommit<CountedCreate, CreateOutcome>
  readonly #triggers: GroupCommit<Trigger, TriggerOutcome>
  /** Triggers of jobs that another transaction had locked: only their own callers wait for them. */
  readonly #lockedTriggers: GroupCommit<Trigger, TriggerOutcome>
  readonly #many: GroupCommit<TriggerManyOrder, TriggerManyOutcome>
  readonly change: Jobs['change']

  constructor(database: Transactions) {
    this.#database = database
    this.#creates = new GroupCommit((items) => this.#insert(items), {
      ...groupLimits,
      weigh: ({ text }) => text.length,
    })
    this.#countedCreates = new GroupCommit((items) => createCounted(database, items), {
      ...groupLimits,
      weigh: ({ text }) => text.length,
    })
    const triggerLimits = { ...groupLimits, weigh: ({ payload }: Trigger) => payload?.length ?? 0 }
    this.#triggers = new GroupCommit((items) => this.#trigger(items, triggers.lockFreeJobs), triggerLimits)
    this.#lockedTriggers = new GroupCommit(
      (items) => this.#trigger(items, triggers.lockHeldJobs),
      triggerLimits,
    )
    // One at a time: each may wait for its job, and holds a connection meanwhile that others need.
    const oneByOne = { itemsMax: 1, weigh: () => 1, weightMax: 1, waitingMax: 1_000 }
    this.#many = new GroupCommit(async ([order]) => [await this.#triggerMany(order!)], oneByOne)
    this.change = (target, decide) => changeJob(database, target, decide)
  }

  create(
    job: NewJob,
    { activeJobsMax }: ActiveJobsLimit = { activeJobsMax: null },
  ): ReturnType<Jobs['create']> {
    const limit = countsAsActive(job) ? activeJobsMax : null
    if (job.dependsOn.length > 0) return createDependent(this.#database, job, limit)
    const item = { job, text: toJobItem(job) }
    return limit === null ? this.#creates.add(item) : this.#countedCreates.add({ ...item, limit })
  }

  async #insert(items: readonly { job: NewJob; text: string }[]): Promise<Created[]> {
    const slots = items.flatMap(({ job: { immediate } }) => (immediate === null ? [] : [immediate.slot]))
    const values = [`[${items.map(({ text }) => text).join(',')}]`, noticeMs]
    const { rows } = await withPartitions(this.#database, 'slots', slots, () =>
      this.#database.query<{ job_id: string }>(statements.insertJobs, values),
    )
    const made = new Set(rows.map((row) => row.job_id))
    const refusals = await findRefusals(
      this.#database,
      items.map(({ job }) => job),
      made,
    )
    return items.map(({ job }) => refusals.get(job.jobId) ?? 'created')
  }

  async get(tenantId: string, jobId: string) {
    const { rows } = await this.#database.query<JobRow>(statements.selectJob, [tenantId, jobId])
    return rows[0] === undefined ? null : toJobView(rows[0])
  }

  async getByKey(tenantId: string, key: string) {
    const { rows } = await this.#database.query<{ job_id: string }>(statements.selectJobIdByKey, [
      tenantId,
      key,
    ])
    return rows[0] === undefined ? null : this.get(tenantId, rows[0].job_id)
  }

  trigger(order: TriggerOrder): Promise<TriggerOutcome> {
    const payload = 'payloadOverride' in order ? JSON.stringify(order.payloadOverride) : null
    return this.#triggers.add({ order, payload })
  }

  async #trigger(
    items: readonly Trigger[],
    lock: Sql,
  ): Promise<(TriggerOutcome | Promise<TriggerOutcome>)[]> {
    const targets = new Map(items.map(({ order }) => [targetOf(order), order]))
    const rows = items.map(({ order, payload }, n): TriggerWire => {
      const { tenantId: t, executionId: e, jobId: j, lane: l, direct, uncharged: u } = order
      return { n, t, e, j, l, p: payload ?? undefined, w: direct?.workerId, r: direct?.route, u }
    })
    const directs = [...new Set(items.flatMap(({ order }) => order.direct?.workerId ?? []))].toSorted()
    const [locked, inserted] = await this.#database.transaction((queries) =>
      insertTriggers(queries, { lock, targets: jobKeyItem.encode(targets.values()), items: rows, directs }),
    )
    const found = new Set(locked.rows.map((row) => `${row.tenant_id} ${row.job_id}`))
    const enqueued = new Map(inserted.rows.map((row) => [row.id, row]))
    return items.map((item) => {
      const row = enqueued.get(item.order.executionId)
      if (row !== undefined) {
        const claimed = !row.taken ? null : row.name === null ? toClaimedLive(row) : toClaimedSingle(row)
        return { kind: 'triggered', enqueuedAt: row.enqueued_at, runId: row.run_id, claimed }
      }
      if (found.has(targetOf(item.order))) return { kind: 'deleted' }
      if (lock === triggers.lockHeldJobs) return { kind: 'not_found' }
      return item.order.direct === undefined ? this.#lockedTriggers.add(item) : { kind: 'locked' }
    })
  }

  triggerMany(order: TriggerManyOrder): Promise<TriggerManyOutcome> {
    return this.#many.add(order)
  }

  async #triggerMany({ tenantId, jobId, lane, batches }: TriggerManyOrder): Promise<TriggerManyOutcome> {
    return this.#database.transaction(async (queries) => {
      const target = jobKeyItem.encode([{ tenantId, jobId }])
      const locked = await queries.query<LockRow>(triggers.lockJobs, [target])
      const status = locked.rows[0]?.status
      if (status === undefined) return { kind: 'not_found' }
      if (status === 'DELETED') return { kind: 'deleted' }
      const begun = await queries.query<{ unended: number }>(triggers.beginTriggers, [
        jobId,
        triggersWaitingMax,
      ])
      const count = batches.reduce((sum, batch) => sum + batch.count, 0)
      if (begun.rows[0]!.unended + count > triggersWaitingMax) return { kind: 'too_many' }
      // In later statements: they see everything committed before we got the locks.
      const values = [jobId, lane, triggerLevels, toBatchItems(batches), generation]
      const batched = await queries.query<{ enqueued_at: EpochMs }>(triggers.insertTriggerBatches, values)
      if (batched.count > 0)
        return { kind: 'triggered', enqueuedAt: batched.rows[0]!.enqueued_at, runIds: [] }
      const items = listTriggers(batches).map(({ executionId: e, payload }, n): TriggerWire => {
        return { n, t: tenantId, e, j: jobId, l: lane, p: payload ?? undefined }
      })
      const lock = triggers.lockHeldJobs
      const [, { rows }] = await insertTriggers(queries, { lock, targets: target, items, directs: [] })
      const runIds = rows.flatMap(({ run_id: runId }) => (runId === null ? [] : [runId])).toSorted()
      return { kind: 'triggered', enqueuedAt: rows[0]!.enqueued_at, runIds }
    })
  }

  enqueueBackfill(order: BackfillOrder): ReturnType<Jobs['enqueueBackfill']> {
    const { tenantId, jobId, operationId, unendedMax, executions } = order
    return this.#database.transaction(async (queries) => {
      const target = jobKeyItem.encode([{ tenantId, jobId }])
      const locked = await queries.query<LockRow>(triggers.lockJobs, [target])
      const status = locked.rows[0]?.status
      if (status === undefined || status === 'DELETED') return null
      const { rows } = await queries.query<{ unended: number }>(triggers.countBackfill, [operationId])
      const { unended } = rows[0]!
      const some = executions.slice(0, Math.max(0, unendedMax - unended))
      const items = some.map(({ slot, ...one }, number) => ({ ...one, number, slotMs: slot }))
      const values = [backfillItem.encode(items), jobId, operationId]
      if (items.length > 0) await queries.query(triggers.insertBackfill, values)
      return { enqueued: items.length, unended: unended + items.length }
    })
  }

  async list({ tenantId, filter, before, offset, limit, bytesMax, payloads }: JobQuery): Promise<JobPage> {
    const { status, tag, q } = filter
    const from = before ?? lastId
    const isSearch = tag !== null || q !== null
    const seenMax = isSearch ? searchedMax : offset + limit + 1
    const pick = [tenantId, from, tag, q?.toLowerCase() ?? null, offset, seenMax]
    const values = [...pick, limit, bytesMax, payloads]
    const { rows } = await (status === null
      ? this.#database.query<ListedRow>(statements.listJobs, values)
      : this.#database.query<ListedRow>(statements.listJobsByStatus, [...values, status]))
    const jobs = rows.map(toListedJob)
    const picked = rows[0]?.picked_count ?? 0
    if (picked > rows.length) return { jobs, next: jobs.at(-1)!.jobId }
    return { jobs, next: isSearch ? await this.#searchEnd(tenantId, from, status) : null }
  }

  /** Where a search stopped looking; null: it has seen all. */
  async #searchEnd(tenantId: string, from: string, status: JobStatus | null): Promise<string | null> {
    const values = [tenantId, from, searchedMax - 1]
    const { rows } = await (status === null
      ? this.#database.query<{ job_id: string }>(statements.selectPickEnd, values)
      : this.#database.query<{ job_id: string }>(statements.selectPickEndByStatus, [...values, status]))
    return rows[0]?.job_id ?? null
  }

  async count(tenantId: string, { status, tag, q }: JobFilter): Promise<Total> {
    const seenMax = tag === null && q === null ? totalMax + 1 : searchedMax
    const values = [tenantId, tag, q?.toLowerCase() ?? null, seenMax]
    const { rows } = await (status === null
      ? this.#database.query<CountRow>(statements.countJobs, values)
      : this.#database.query<CountRow>(statements.countJobsByStatus, [...values, status]))
    const { seen, total } = rows[0]!
    return { total: Math.min(total, totalMax), capped: total > totalMax || seen === seenMax }
  }

  async findQuiet(tenantId: string, jobIds: readonly string[]): Promise<string[]> {
    const { rows } = await this.#database.query<{ job_id: string }>(statements.selectQuiet, [
      tenantId,
      jobIds,
    ])
    return rows.map((row) => row.job_id)
  }

  async findResumable(limit: number) {
    const { rows } = await this.#database.query<Columns<Resumable>>(statements.selectResumable, [limit])
    return rows.map(fromColumns<Resumable>)
  }
}

/** As `batchItem` has it; payloads are JSON already. */
function toBatchItems(batches: readonly TriggerBatch[]): string {
  const items = batches.map(({ batchId, count, payloads }) => {
    const own = payloads === null ? '' : `,"payloads":[${payloads.join(',')}]`
    return `{"batch_id":"${batchId}","size":${count}${own}}`
  })
  return `[${items.join(',')}]`
}

function targetOf({ tenantId, jobId }: TriggerOrder): string {
  return `${tenantId} ${jobId}`
}

type TriggerWire = WireOf<typeof triggerItem>

interface TriggersToInsert {
  lock: Sql
  /** As JSON. */
  targets: string
  items: readonly TriggerWire[]
  /** Workers that take some of them, in the order of their ids. */
  directs: readonly string[]
}

/** Both statements are sent together: in between, another request of the same transaction could replace the list of locked jobs. */
function insertTriggers(queries: Queries, { lock, targets, items, directs }: TriggersToInsert) {
  return Promise.all([
    queries.query<LockRow>(lock, [targets, directs]),
    queries.query<TriggeredRow>(triggers.insertTriggers, [JSON.stringify(items), triggerLevels], 'last'),
  ])
}

/** All null if no job was locked. */
interface LockRow {
  tenant_id: string | null
  job_id: string | null
  status: JobStatus | null
}

/** Of the claimed executions, only the first of each definition carries the definition. */
type TriggeredRow = { enqueued_at: EpochMs; taken: boolean } & (SingleRow | (LiveClaimRow & { name: null }))

interface CountRow {
  seen: number
  total: number
}

type Resumable = Awaited<ReturnType<Jobs['findResumable']>>[number]
