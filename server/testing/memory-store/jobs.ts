// Jobs in memory.
import { isGraphRefusal } from '../../src/domain/graphs/graph.ts'
import { changesGraph, planGraphChange, planGraphCreate } from '../../src/domain/graphs/graph-change.ts'
import { type ActiveJobsRefusal, countsAsActive } from '../../src/domain/jobs/active-jobs.ts'
import {
  hasOwnRows,
  type JobVersion,
  type JobView,
  partitionOf,
  runsOnce,
  searchTextOf,
} from '../../src/domain/jobs/job.ts'
import { applyWrite, type JobState, type JobWrite } from '../../src/domain/jobs/job-change.ts'
import type { JobFilter } from '../../src/domain/jobs/operation.ts'
import type { SettledAttempt } from '../../src/domain/queue/attempt.ts'
import { sharedLane } from '../../src/domain/queue/lane.ts'
import { rankOf, triggerPriority } from '../../src/domain/queue/rank.ts'
import { routeOf } from '../../src/domain/queue/route.ts'
import { listTriggers, triggersWaitingMax } from '../../src/domain/queue/trigger-batches.ts'
import { dueAtOf } from '../../src/domain/schedule/jitter.ts'
import { type EpochMs, epochMs } from '../../src/lib/time/epoch.ts'
import { totalMax } from '../../src/ports/executions.ts'
import type {
  ActiveJobsLimit,
  BackfillOrder,
  ChangeOutcome,
  ChangeTarget,
  JobPage,
  JobQuery,
  Jobs,
  NewJob,
  Total,
  TriggerManyOrder,
  TriggerManyOutcome,
  TriggerOrder,
  TriggerOutcome,
} from '../../src/ports/jobs.ts'
import type { ClaimedLive } from '../../src/ports/queue.ts'
import { boundedPage, splitPayload } from './bounded-page.ts'
import { sharedUpTo, takeLive } from './claim.ts'
import { cancelOfDeleted } from './end-deleted.ts'
import { hostOfUncharged } from './held-back.ts'
import { entryState, makeLive } from './insert-live.ts'
import { partOf, writeGraph } from './job-graph.ts'
import { noteDue } from './note-due.ts'
import { pruneEdited } from './prune-versions.ts'
import type { JobRow, LiveRow } from './rows.ts'
import { addSkip } from './slots.ts'
import { compareText } from './sorted-set.ts'
import { graphOfRoot, type MemoryStore } from './store.ts'
import { owedOf } from './under-way.ts'

export class MemoryJobs implements Jobs {
  readonly #store: MemoryStore

  constructor(store: MemoryStore) {
    this.#store = store
  }

  async create(
    job: NewJob,
    { activeJobsMax }: ActiveJobsLimit = { activeJobsMax: null },
  ): ReturnType<Jobs['create']> {
    const { key, createdAt, createdBy, status, slotAt, immediate, ...given } = job
    const version = structuredClone(given)
    const { jobId, tenantId, dependsOn } = version
    const jobIds = dependsOn.map((one) => one.jobId)
    const plan = jobIds.length === 0 ? null : planGraphCreate(partOf(this.#store, { tenantId, jobIds }), job)
    if (plan !== null && isGraphRefusal(plan)) return plan
    if (this.#store.deletedTenants.has(tenantId)) return 'tenant_deleted'
    if (this.#isTaken(tenantId, key, null)) return 'key_taken'
    const full = countsAsActive(job) ? this.#findFull(tenantId, activeJobsMax) : null
    if (full !== null) return full
    const partitionId = partitionOf(jobId)
    const decidedTo = immediate?.slot ?? null
    const cursor = {
      jobId,
      partitionId,
      version: 1,
      status,
      slotAt,
      dueAt: slotAt === null ? null : dueAtOf(version, slotAt),
      decidedTo,
      runs: 0,
      graphId: null,
      depends: false,
    }
    const row = this.#store.addJob(version, cursor, { key, createdAt, createdBy })
    noteDue(this.#store, cursor)
    if (plan !== null) writeGraph(this.#store, plan)
    if (immediate !== null) this.#enqueue(row, immediate)
    return 'created'
  }

  #enqueue(job: JobRow, { executionId, slot, lane }: NonNullable<NewJob['immediate']>): void {
    const { jobId, tenantId } = job
    const version = job.versions.get(1)!
    const { priority } = version
    const identity = { executionId, jobId, version: 1, slot }
    const queued = { route: routeOf(version), lane, priority }
    this.#store.addSlot(job, { slot, executionId, reason: null })
    if (!hasOwnRows(version)) {
      this.#store.enqueue(identity, queued)
      return
    }
    const enqueuedAt = this.#store.now()
    const state = entryState(version, { isFree: true })
    const since = { enqueuedAt, rank: rankOf(enqueuedAt, priority) }
    this.#store.addLive(makeLive({ ...identity, tenantId, kind: 'slot', ...queued, ...since, ...state }))
  }

  async get(tenantId: string, jobId: string): Promise<JobView | null> {
    const job = this.#store.findJob(tenantId, jobId)
    return job === null ? null : viewOf(this.#store, job)
  }

  async getByKey(tenantId: string, key: string): Promise<JobView | null> {
    const job = this.#store.findJobByKey(tenantId, key)
    return job === null ? null : viewOf(this.#store, job)
  }

  async change(
    { tenantId, jobId, dependsOn, activeJobsMax = null }: ChangeTarget,
    decide: (job: JobState) => JobWrite | null,
  ): Promise<ChangeOutcome> {
    const job = this.#store.findJob(tenantId, jobId)
    if (job === null) return 'not_found'
    const state = stateOf(this.#store, job)
    const write = decide(state)
    if (write === null) return viewOf(this.#store, job)
    const jobIds = [jobId, ...(dependsOn ?? []).map((one) => one.jobId)]
    const plan = changesGraph(state, write)
      ? planGraphChange(partOf(this.#store, { tenantId, jobIds }), { state, write, dependsOn })
      : null
    if (plan !== null && isGraphRefusal(plan)) return plan
    if (write.status !== 'DELETED' && this.#isTaken(tenantId, write.key, job)) return 'key_taken'
    const more = countsAsActive(write) && !countsAsActive(state)
    const full = more ? this.#findFull(tenantId, activeJobsMax) : null
    if (full !== null) return full
    const cancelled = this.#write(job, write, state.now)
    if (plan !== null) writeGraph(this.#store, plan)
    else if (write.version !== null) pruneEdited(this.#store, job)
    return { ...applyWrite(state, write), ...(cancelled.length > 0 && { cancelled }) }
  }

  #write(job: JobRow, write: JobWrite, now: EpochMs): SettledAttempt[] {
    const { by, key, version, status, slotAt, decidedTo, runs, pause } = write
    if (version !== null) {
      job.versions.set(version.version, structuredClone(version))
      job.made.set(version.version, { at: now, by })
      job.version = version.version
    }
    Object.assign(job, { key, pause, updatedAt: now, updatedBy: by })
    if (status === 'DELETED') job.deletedAt ??= now
    const dueAt = slotAt === null ? null : dueAtOf(job.versions.get(job.version)!, slotAt)
    const queued = { version: job.version, status, slotAt, dueAt, decidedTo, runs }
    this.#store.changeCursor(job.cursor, queued)
    for (const range of write.skips) addSkip(job, { ...range })
    if (write.dropsOwed) this.#store.setOwed(job, null)
    noteDue(this.#store, job.cursor)
    const { cancelsPending, cancelsRunning: running } = write
    return cancelsPending || running ? cancelOfDeleted(this.#store, job, running) : []
  }

  async trigger(order: TriggerOrder): Promise<TriggerOutcome> {
    const { tenantId, jobId } = order
    const job = this.#store.findUsableJob(tenantId, jobId)
    if (job === null) return { kind: 'not_found' }
    if (job.cursor.status === 'DELETED') return { kind: 'deleted' }
    const upTo = order.direct === undefined ? 0 : sharedUpTo(this.#store, order.direct.route)
    const { row, ...made } = this.#makeTrigger(job, order)
    return { kind: 'triggered', ...made, claimed: this.#take(row, order.direct, upTo) }
  }

  #take(row: LiveRow, direct: TriggerOrder['direct'], upTo: number): ClaimedLive | null {
    const lease = direct && this.#store.leases.get(direct.workerId)
    if (lease === undefined || row.state !== 'ready' || row.runId !== null) return null
    if (row.route !== direct!.route || row.lane !== sharedLane || row.rank >= upTo) return null
    return takeLive(this.#store, row, lease)
  }

  #makeTrigger(job: JobRow, order: TriggerOrder) {
    const { tenantId, jobId, executionId, lane, uncharged = false } = order
    const version = job.versions.get(job.version)!
    const priority = triggerPriority(version.priority)
    const now = this.#store.now()
    const slot = this.#thisSecond()
    const runId = graphOfRoot(job.cursor) === null ? null : executionId
    const row = makeLive({
      executionId,
      jobId,
      version: job.version,
      tenantId,
      kind: 'trigger',
      ...entryState(version, { isFree: !this.#store.isBlocked(job) }),
      route: routeOf(version),
      lane,
      priority,
      slot,
      enqueuedAt: now,
      rank: rankOf(now, priority),
      runId,
      host: uncharged ? hostOfUncharged(this.#store, tenantId) : null,
      ...('payloadOverride' in order ? { payloadOverride: structuredClone(order.payloadOverride) } : {}),
    })
    this.#store.addLive(row)
    return { enqueuedAt: now, runId, row }
  }

  async triggerMany(order: TriggerManyOrder): Promise<TriggerManyOutcome> {
    const { tenantId, jobId, lane, batches } = order
    const job = this.#store.findUsableJob(tenantId, jobId)
    if (job === null) return { kind: 'not_found' }
    if (job.cursor.status === 'DELETED') return { kind: 'deleted' }
    const version = job.versions.get(job.version)!
    const triggers = [...job.batched.values()].filter(({ kind }) => kind === 'trigger')
    const live = [...job.live].filter(({ state }) => state !== 'blocked')
    const count = batches.reduce((sum, batch) => sum + batch.count, 0)
    if (triggers.length + live.length + count > triggersWaitingMax) return { kind: 'too_many' }
    const isFastPath =
      version.overlapPolicy === 'ALLOW' && !hasOwnRows(version) && graphOfRoot(job.cursor) === null
    const runIds: string[] = []
    for (const { executionId, payload } of listTriggers(batches)) {
      const own = payload === null ? {} : { payloadOverride: JSON.parse(payload) as unknown }
      if (isFastPath) this.#enqueueTrigger(version, { executionId, lane, ...own })
      else {
        const { runId } = this.#makeTrigger(job, { tenantId, jobId, executionId, lane, ...own })
        if (runId !== null) runIds.push(runId)
      }
    }
    return { kind: 'triggered', enqueuedAt: this.#store.now(), runIds }
  }

  #enqueueTrigger(
    definition: JobVersion,
    { executionId, lane, ...own }: Pick<TriggerOrder, 'executionId' | 'lane' | 'payloadOverride'>,
  ): void {
    const { jobId, version } = definition
    const queued = { kind: 'trigger', route: routeOf(definition), lane } as const
    const entry = { executionId, jobId, version, slot: this.#thisSecond(), ...own }
    this.#store.enqueue(entry, { ...queued, priority: triggerPriority(definition.priority) })
  }

  #thisSecond(): EpochMs {
    const now = this.#store.now()
    return epochMs(now - (now % 1_000))
  }

  async enqueueBackfill(order: BackfillOrder): ReturnType<Jobs['enqueueBackfill']> {
    const { tenantId, jobId, operationId, unendedMax, executions } = order
    const job = this.#store.findUsableJob(tenantId, jobId)
    if (job === null || job.cursor.status === 'DELETED') return null
    const version = job.versions.get(job.version)!
    const unended = countBackfill(this.#store, job, operationId)
    const some = executions.slice(0, Math.max(0, unendedMax - unended))
    const enqueuedAt = this.#store.now()
    for (const [index, { executionId, slot, lane }] of some.entries()) {
      const { priority } = version
      // In the order in which they were given.
      const rank = epochMs(rankOf(enqueuedAt, priority) + index)
      const identity = { executionId, jobId, version: job.version, tenantId, slot, operationId } as const
      const queued = { route: routeOf(version), lane, priority, enqueuedAt, rank }
      const state = entryState(version, { isFree: false })
      const runId = graphOfRoot(job.cursor) === null ? null : executionId
      const host = hostOfUncharged(this.#store, tenantId)
      this.#store.addLive(makeLive({ ...identity, kind: 'backfill', ...queued, ...state, runId, host }))
    }
    return { enqueued: some.length, unended: unended + some.length }
  }

  async list({ tenantId, filter, before, offset, ...bounds }: JobQuery): Promise<JobPage> {
    const jobs = findJobs(this.#store, tenantId, filter)
      .filter(({ jobId }) => before === null || jobId < before)
      .toSorted((a, b) => compareText(b.jobId, a.jobId))
      .slice(offset)
    const views = jobs.slice(0, bounds.limit + 1).map((job) => viewOf(this.#store, job))
    const { page, more } = boundedPage(views, bounds, splitPayload)
    const listed = page.map((view, nth) => {
      return { ...splitPayload(view).lean, payload: view.payload, health: jobs[nth]!.health }
    })
    return { jobs: listed, next: more ? (page.at(-1)?.jobId ?? null) : null }
  }

  async count(tenantId: string, filter: JobFilter): Promise<Total> {
    const { length } = findJobs(this.#store, tenantId, filter)
    return { total: Math.min(length, totalMax), capped: length > totalMax }
  }

  async findQuiet(tenantId: string, jobIds: readonly string[]): Promise<string[]> {
    return jobIds.filter((jobId) => {
      const job = this.#store.jobs.get(jobId)
      if (job === undefined || job.tenantId !== tenantId) return false
      return job.cursor.graphId === null && job.live.size === 0 && job.batched.size === 0
    })
  }

  async findResumable(limit: number): ReturnType<Jobs['findResumable']> {
    const now = this.#store.now()
    const { deletedTenants, restoredAt } = this.#store
    const over = [...this.#store.jobs.values()]
      .filter(({ tenantId }) => !deletedTenants.has(tenantId))
      .flatMap(({ tenantId, jobId, pause }) => {
        const until = pause?.until ?? null
        if (until === null || until > now) return []
        const at = Math.max(until, restoredAt.get(tenantId) ?? until) as EpochMs
        return [{ tenantId, jobId, until, at }]
      })
      .toSorted((a, b) => a.until - b.until || compareText(a.jobId, b.jobId))
    const byTenant = [...Map.groupBy(over, ({ tenantId }) => tenantId).values()]
    const turns = new Map(byTenant.flatMap((jobs) => jobs.map((job, turn) => [job, turn] as const)))
    return over.toSorted((a, b) => turns.get(a)! - turns.get(b)!).slice(0, limit)
  }

  #findFull(tenantId: string, activeJobsMax: number | null): ActiveJobsRefusal | null {
    if (activeJobsMax === null) return null
    const used = countActive(this.#store, tenantId)
    return used < activeJobsMax ? null : { refusal: 'active_jobs_full', used }
  }

  #isTaken(tenantId: string, key: string | null, own: JobRow | null): boolean {
    if (key === null) return false
    const holder = this.#store.findJobByKey(tenantId, key)
    return holder !== null && holder !== own
  }
}

export function findJobs(store: MemoryStore, tenantId: string, { status, tag, q }: JobFilter): JobRow[] {
  return [...store.jobs.values()].filter((job) => {
    if (job.tenantId !== tenantId) return false
    const { tags } = job.versions.get(job.version)!
    const isStatus = status === null ? job.cursor.status !== 'DELETED' : job.cursor.status === status
    return isStatus && (tag === null || tags.includes(tag)) && (q === null || hasText(job, q))
  })
}

export function countActive(store: MemoryStore, tenantId: string): number {
  const counts = ({ cursor, pause }: JobRow) => countsAsActive({ status: cursor.status, pause })
  return store.jobs
    .values()
    .filter((job) => job.tenantId === tenantId && counts(job))
    .toArray().length
}

/** For a root, an execution that has ended still counts for as long as its run goes on. */
function countBackfill(store: MemoryStore, { jobId, live }: JobRow, operationId: string): number {
  const runs = [...(store.runRoots.get(jobId)?.values() ?? [])]
  const isOf = (one: { operationId: string | null }) => one.operationId === operationId
  const goOn = runs.filter((run) => isOf(run) && !store.live.has(run.executionId))
  return [...live].filter(isOf).length + goOn.length
}

/** Whether it stands in the job's name, key or a tag, in any case. */
export function hasText({ key, versions, version }: JobRow, text: string): boolean {
  const { name, tags } = versions.get(version)!
  return searchTextOf({ name, key, tags }).includes(text.toLowerCase())
}

/** Whether it is COMPLETED and runs once. */
export function isDoneOnce({ cursor, versions, version }: JobRow): boolean {
  return cursor.status === 'COMPLETED' && runsOnce(versions.get(version)!)
}

export function viewOf(store: MemoryStore, job: JobRow): JobView {
  const { key, pause, cursor, lastRunAt, createdAt, createdBy, updatedAt, updatedBy } = job
  const { status, slotAt, runs } = cursor
  const stamps = { createdAt, createdBy, updatedAt, updatedBy }
  const version = job.versions.get(job.version)!
  const isUnderWay = isDoneOnce(job) && store.isBlocked(job)
  return { ...version, key, status, pause, slotAt, runs, lastRunAt, isUnderWay, ...stamps }
}

function stateOf(store: MemoryStore, job: JobRow): JobState {
  const { cursor, latest } = job
  const owed = owedOf(job)
  return {
    ...viewOf(store, job),
    now: store.now(),
    decidedTo: cursor.decidedTo,
    recordedAt: latest?.slot ?? null,
    owed,
    owedDecided: owed === null ? [] : recordsWithin(job, owed),
    graphId: cursor.graphId,
  }
}

/** Slots that have their record already: skips, and slots that ran while overlap was allowed. */
export function recordsWithin({ skips, slots }: JobRow, range: { from: EpochMs; to: EpochMs }) {
  const fired = [...slots.values()].filter(({ reason }) => reason === null)
  const parts = [...skips, ...fired.map(({ slot }) => ({ from: slot, to: slot }))]
  return parts
    .filter(({ from, to }) => from <= range.to && to >= range.from)
    .map(({ from, to }) => ({ from, to }))
    .toSorted((a, b) => a.from - b.from)
}
