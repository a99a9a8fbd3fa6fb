// The state behind all ports of the memory store: plain maps, and the indexes that keep firing, claiming and
// finishing independent of how much there is. Nothing here waits, so a port method that does its work in one go is a
// transaction.

import { RUN_KINDS } from '@carillon/contract/constants.ts'
import { type JobVersion, partitionsCount } from '../../src/domain/jobs/job.ts'
import { batchIdOf, type ExecutionKind } from '../../src/domain/queue/execution.ts'
import { rankOf } from '../../src/domain/queue/rank.ts'
import { nameOfKey } from '../../src/domain/queue/release.ts'
import { deletedRoutePrefix } from '../../src/domain/queue/route.ts'
import type { ExecutionBudget } from '../../src/domain/tenants/execution-budget.ts'
import { historyDaysMax, type Tier } from '../../src/domain/tenants/tenant.ts'
import { type EpochMs, epochMs } from '../../src/lib/time/epoch.ts'
import { dayMs } from '../../src/lib/time/units.ts'
import type { Clock } from '../../src/ports/clock.ts'
import type { ApiProcessRow } from './api-processes.ts'
import { AttemptLog } from './attempt-log.ts'
import { byRank, Claimable } from './claimable.ts'
import { overdueAt } from './deadlines.ts'
import { HeldBack, isHeldBack } from './held-back.ts'
import type {
  BatchEntry,
  BatchRow,
  CalendarRow,
  CursorRow,
  DeadLetterRow,
  FormerWorkerRow,
  GraphRunRow,
  JobRow,
  LeaseRow,
  LiveRow,
  LogRow,
  OperationRow,
  RequestRow,
  RunNoteRow,
  RunRootRow,
  SigningKeyRow,
  SlotRow,
  TenantWorkRow,
} from './rows.ts'
import { compareText, SortedSet } from './sorted-set.ts'

export class MemoryStore {
  readonly jobs = new Map<string, JobRow>()
  /** By partition, ACTIVE cursors that come due. */
  readonly due = Array.from({ length: partitionsCount }, () => new SortedSet<DueCursor>(byDue))
  /** By partition, jobs that are new or changed. */
  readonly changes = Array.from({ length: partitionsCount }, () => new Set<string>())
  readonly batches = new Map<string, BatchRow>()
  readonly live = new Map<string, LiveRow>()
  readonly claimable = new Claimable()
  readonly retrying = new SortedSet<LiveRow>(
    (a, b) => a.readyAt! - b.readyAt! || compareText(a.executionId, b.executionId),
  )
  /** Executions that have a deadline, by the first of them. */
  readonly overdue = new SortedSet<LiveRow>(
    (a, b) => overdueAt(a)! - overdueAt(b)! || compareText(a.executionId, b.executionId),
  )
  /** Jobs that have a waiting execution or owed slots, or await an end before their next slot is known. */
  readonly waitingJobs = new SortedSet<string>(compareText)
  /** Executions that wait for a concurrency key, longest first. */
  readonly waitingForKey = new SortedSet<LiveRow>(byRank)
  /** By `nameOfKey`: how many executions hold a concurrency key. */
  readonly keyHolders = new Map<string, number>()
  readonly heldBack = new HeldBack()
  readonly budgets = new Map<string, ExecutionBudget>()
  /** Grows with each change of a tier, and of the tier of a tenant. */
  tiersRevision = 0
  /** The tier of a tenant; null: there is no such tenant. */
  tierOf: (tenantId: string) => Tier | null = () => null
  readonly log = new AttemptLog()
  readonly deadLetters = new Map<string, DeadLetterRow>()
  /** By job and by run. A job that has none is not in it. */
  readonly runRoots = new Map<string, Map<string, RunRootRow>>()
  /** By run, the one first that was noted first; each in the order of arrival. A run that has none is not in it. */
  readonly runNotes = new Map<string, RunNoteRow[]>()
  readonly graphRuns = new Map<string, GraphRunRow>()
  /** Runs of which a root is still to fire. */
  readonly unfiredRuns = new Set<string>()
  readonly leases = new Map<string, LeaseRow>()
  /** By id: workers that died or left and are still shown. */
  readonly formerWorkers = new Map<string, FormerWorkerRow>()
  readonly operations = new Map<string, OperationRow>()
  /** By tenant and name, with a space between. */
  readonly calendars = new Map<string, CalendarRow>()
  /** The logs of attempts, by execution and the number of the attempt. */
  readonly logs = new Map<string, Map<number, LogRow>>()
  /** By process with the role `history`: its last beat. */
  readonly historyBeats = new Map<string, EpochMs>()
  /** The rows of `api_processes`. */
  readonly apiProcesses = new Map<string, ApiProcessRow>()
  /** By tenant; one that is not here has the key it began with. */
  readonly signingKeys = new Map<string, SigningKeyRow>()
  /** By tenant and key. */
  readonly requests = new Map<string, RequestRow>()
  /** Nothing of these makes an execution. */
  readonly deletedTenants = new Set<string>()
  /** By tenant: the work on its end. */
  readonly tenantWork = new Map<string, TenantWorkRow>()
  /** By tenant: its latest restore. */
  readonly restoredAt = new Map<string, EpochMs>()
  /** Schedulers and their counters. */
  readonly schedulers = new Map<string, number>()
  readonly holders: (string | null)[] = new Array(partitionsCount).fill(null)
  /** Fair-share weights of tenants that differ from the one tier there is. */
  readonly weights = new Map<string, number>()
  readonly #clock: Pick<Clock, 'databaseNow'>

  constructor(clock: Pick<Clock, 'databaseNow'>) {
    this.#clock = clock
  }

  now(): EpochMs {
    return this.#clock.databaseNow()
  }

  /** Records from before this time are no longer shown. */
  retainedFrom(): EpochMs {
    return epochMs(this.now() - historyDaysMax * dayMs)
  }

  addJob(
    version: JobVersion,
    cursor: CursorRow,
    { key, createdAt, createdBy }: Pick<JobRow, 'key' | 'createdAt' | 'createdBy'>,
  ): JobRow {
    const { jobId, tenantId } = version
    if (this.jobs.has(jobId)) throw new Error(`there is a job ${jobId}`)
    const job: JobRow = {
      jobId,
      tenantId,
      key,
      version: version.version,
      createdAt,
      createdBy,
      updatedAt: createdAt,
      updatedBy: createdBy,
      deletedAt: null,
      pause: null,
      versions: new Map([[version.version, version]]),
      made: new Map([[version.version, { at: createdAt, by: createdBy }]]),
      pruned: new Map(),
      cursor,
      slots: new Map(),
      latest: null,
      lastRunAt: null,
      skips: [],
      owed: null,
      joined: 0,
      live: new Set(),
      waiting: new SortedSet(byRank),
      batched: new Map(),
      ended: new Set(),
      health: null,
    }
    this.jobs.set(jobId, job)
    if (isDue(cursor)) this.due[cursor.partitionId]!.add(cursor)
    this.indexWaiting(job)
    return job
  }

  findJob(tenantId: string, jobId: string): JobRow | null {
    const job = this.jobs.get(jobId)
    return job?.tenantId === tenantId ? job : null
  }

  /** None of a deleted tenant. */
  findUsableJob(tenantId: string, jobId: string): JobRow | null {
    return this.deletedTenants.has(tenantId) ? null : this.findJob(tenantId, jobId)
  }

  /** Of the jobs that are not deleted. */
  findJobByKey(tenantId: string, key: string): JobRow | null {
    const isIt = (job: JobRow) => job.key === key && job.tenantId === tenantId && job.deletedAt === null
    return this.jobs.values().find(isIt) ?? null
  }

  changeCursor(cursor: CursorRow, changes: Partial<CursorRow>): void {
    const due = this.due[cursor.partitionId]!
    if (isDue(cursor)) due.delete(cursor)
    Object.assign(cursor, changes)
    if (isDue(cursor)) due.add(cursor)
    this.indexWaiting(this.jobs.get(cursor.jobId)!)
  }

  /** The scheduler that holds its partition reads the job anew. */
  noteChange({ jobId, partitionId }: CursorRow): void {
    this.changes[partitionId]!.add(jobId)
  }

  addSlot(job: JobRow, row: SlotRow): void {
    job.slots.set(row.slot, row)
    if (job.latest === null || row.slot > job.latest.slot) job.latest = row
    if (row.reason === null && row.slot > (job.lastRunAt ?? Number.NEGATIVE_INFINITY))
      job.lastRunAt = row.slot
  }

  setOwed(job: JobRow, owed: JobRow['owed']): void {
    job.owed = owed
    if (owed === null) job.joined = 0
    this.indexWaiting(job)
  }

  /** Whether anything of the job is under way, waiting or owed, or a run of which it is a root. */
  isBlocked({ jobId, live, owed, batched }: JobRow): boolean {
    if (owed !== null || batched.size > 0 || this.runRoots.has(jobId)) return true
    return live.values().some(({ state }) => state !== 'blocked')
  }

  /** The execution joins the batch of its id, which is made if it is not there. */
  enqueue(
    { executionId, ...entry }: Omit<BatchEntry, 'position'> & { executionId: string },
    {
      kind = 'slot',
      route,
      lane,
      priority,
    }: Pick<BatchRow, 'route' | 'lane' | 'priority'> & Partial<Pick<BatchRow, 'kind'>>,
  ): void {
    const batchId = batchIdOf(executionId)
    const added = { position: Number.parseInt(executionId.slice(34), 16), ...entry }
    const batch = this.batches.get(batchId) ?? this.#openBatch({ batchId, kind, route, lane, priority })
    batch.entries.push(added)
    this.jobs.get(entry.jobId)!.batched.set(added, batch)
  }

  #openBatch(queued: Pick<BatchRow, 'batchId' | 'kind' | 'route' | 'lane' | 'priority'>): BatchRow {
    const enqueuedAt = this.now()
    const rank = rankOf(enqueuedAt, queued.priority)
    const fresh = { workerId: null, claimedAt: null, fence: 0, entries: [], cancels: new Map() }
    const batch = { ...queued, enqueuedAt, rank, ...fresh }
    this.batches.set(batch.batchId, batch)
    this.claimable.addBatch(batch)
    return batch
  }

  versionOf({ jobId, version }: { jobId: string; version: number }): JobVersion {
    return this.jobs.get(jobId)!.versions.get(version)!
  }

  /** The execution is no longer in its batch; one that is empty is gone. */
  removeEntry(batch: BatchRow, entry: BatchEntry): void {
    batch.entries = batch.entries.filter((other) => other !== entry)
    if (batch.entries.length === 0) this.deleteBatch(batch)
  }

  holdBatch(batch: BatchRow, lease: LeaseRow): void {
    this.claimable.deleteBatch(batch)
    batch.workerId = lease.workerId
    batch.claimedAt = this.now()
    batch.fence = 1
    lease.batches.add(batch)
  }

  deleteBatch(batch: BatchRow): void {
    if (batch.workerId === null) this.claimable.deleteBatch(batch)
    else this.leases.get(batch.workerId)!.batches.delete(batch)
    this.batches.delete(batch.batchId)
  }

  /** No worker claims it any more; the release loop ends its executions. */
  leaveBehind(job: JobRow, batch: BatchRow): void {
    this.claimable.deleteBatch(batch)
    batch.route = `${deletedRoutePrefix}${batch.route}`
    this.claimable.addBatch(batch)
    this.indexWaiting(job)
  }

  addLive(row: LiveRow): void {
    this.live.set(row.executionId, row)
    this.jobs.get(row.jobId)!.live.add(row)
    this.#index(row)
    if (row.runId !== null && runKinds.has(row.kind)) this.#startRun(row, row.runId)
  }

  changeLive(row: LiveRow, changes: Partial<LiveRow>): void {
    this.#unindex(row)
    Object.assign(row, changes)
    this.#index(row)
  }

  deleteLive(row: LiveRow): void {
    this.#unindex(row)
    this.live.delete(row.executionId)
    this.jobs.get(row.jobId)!.live.delete(row)
    if (row.runId !== null) this.#noteRun(row, row.runId, 'end')
  }

  addRunRoot(row: RunRootRow): void {
    const roots = this.runRoots.get(row.jobId) ?? new Map<string, RunRootRow>()
    this.runRoots.set(row.jobId, roots.set(row.runId, row))
  }

  /** With `executionId` only if it is of that. */
  deleteRunRoot({
    jobId,
    runId,
    executionId,
  }: Pick<RunRootRow, 'jobId' | 'runId'> & Partial<RunRootRow>): void {
    const roots = this.runRoots.get(jobId)
    if (executionId !== undefined && roots?.get(runId)?.executionId !== executionId) return
    roots?.delete(runId)
    if (roots?.size === 0) this.runRoots.delete(jobId)
  }

  addRunNote(note: RunNoteRow): void {
    const notes = this.runNotes.get(note.runId)
    if (notes === undefined) this.runNotes.set(note.runId, [note])
    else notes.push(note)
  }

  #startRun(row: LiveRow, runId: string): void {
    const { jobId, executionId, operationId } = row
    // A resumed run may have a row of this root already: the step that reads the note gives the root a run of its own.
    const isThere = this.runRoots.get(jobId)?.has(runId) ?? false
    if (!isThere) this.addRunRoot({ jobId, runId, executionId, operationId })
    this.#noteRun(row, runId, 'root')
  }

  #noteRun({ jobId, executionId }: LiveRow, runId: string, what: 'root' | 'end'): void {
    this.addRunNote({ runId, what, jobId, executionId, at: this.now(), message: null })
  }

  #index(row: LiveRow): void {
    if (overdueAt(row) !== null) this.overdue.add(row)
    if (row.state === 'waiting') {
      const job = this.jobs.get(row.jobId)!
      job.waiting.add(row)
      if (row.concurrencyKey !== null) this.waitingForKey.add(row)
      this.indexWaiting(job)
      return
    }
    this.#countKey(row, 1)
    if (isHeldBack(row)) this.heldBack.add(row)
    else if (row.state === 'ready') this.claimable.addLive(row)
    else if (row.state === 'retrying') this.retrying.add(row)
    else if (row.state === 'running') this.leases.get(row.workerId!)!.live.add(row)
  }

  #unindex(row: LiveRow): void {
    if (overdueAt(row) !== null) this.overdue.delete(row)
    if (row.state === 'waiting') {
      const job = this.jobs.get(row.jobId)!
      job.waiting.delete(row)
      if (row.concurrencyKey !== null) this.waitingForKey.delete(row)
      this.indexWaiting(job)
      return
    }
    this.#countKey(row, -1)
    if (isHeldBack(row)) this.heldBack.delete(row)
    else if (row.state === 'ready') this.claimable.deleteLive(row)
    else if (row.state === 'retrying') this.retrying.delete(row)
    else if (row.state === 'running') this.leases.get(row.workerId!)!.live.delete(row)
  }

  #countKey({ tenantId, concurrencyKey }: LiveRow, by: 1 | -1): void {
    if (concurrencyKey === null) return
    const name = nameOfKey(tenantId, concurrencyKey.key)
    const held = (this.keyHolders.get(name) ?? 0) + by
    if (held === 0) this.keyHolders.delete(name)
    else this.keyHolders.set(name, held)
  }

  indexWaiting(job: JobRow): void {
    const isLeft = job.cursor.status === 'DELETED' && job.batched.values().some(isLeftBehind)
    if (job.owed !== null || job.waiting.size > 0 || isAwaiting(job.cursor) || isLeft)
      this.waitingJobs.add(job.jobId)
    else this.waitingJobs.delete(job.jobId)
  }
}

/** Whether a deleted job left it behind. */
export function isLeftBehind({ route }: BatchRow): boolean {
  return route.startsWith(deletedRoutePrefix)
}

/** Kinds of executions that start a run; executions made by a run itself are not noted. */
const runKinds: ReadonlySet<ExecutionKind> = new Set<ExecutionKind>(RUN_KINDS)

export type DueCursor = Pick<CursorRow, 'jobId' | 'dueAt'>

function byDue(a: DueCursor, b: DueCursor): number {
  return a.dueAt! - b.dueAt! || compareText(a.jobId, b.jobId)
}

function isDue({ status, dueAt }: CursorRow): boolean {
  return status === 'ACTIVE' && dueAt !== null
}

/** Whether its next slot is known only once its last execution has ended. */
export function isAwaiting({ status, slotAt, depends }: CursorRow): boolean {
  return status === 'ACTIVE' && slotAt === null && !depends
}

/** The graph of which its job starts runs; null: it does not. */
export function graphOfRoot({ graphId, depends }: CursorRow): string | null {
  return depends ? null : graphId
}
