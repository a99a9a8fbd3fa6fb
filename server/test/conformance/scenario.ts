// The common steps of the conformance suites: create a job, fire a slot of it, claim, finish.

import assert from 'node:assert/strict'
import { runIdOfSlot } from '../../src/domain/graphs/graph-run.ts'
import { hasOwnRows, isLimited, partitionOf } from '../../src/domain/jobs/job.ts'
import type { AttemptEnd } from '../../src/domain/queue/attempt.ts'
import { executionIdAt } from '../../src/domain/queue/execution.ts'
import { sharedLane } from '../../src/domain/queue/lane.ts'
import { type KeyCounts, planRelease, type WaitingJob } from '../../src/domain/queue/release.ts'
import { routeOf, serverRoute } from '../../src/domain/queue/route.ts'
import type { Worker } from '../../src/domain/queue/worker.ts'
import type { SkippedSlots } from '../../src/domain/scheduling/misfire.ts'
import { defaultTenantId } from '../../src/domain/tenants/tenant.ts'
import { type EpochMs, epochMs } from '../../src/lib/time/epoch.ts'
import type { ExecutionQuery, ExecutionView } from '../../src/ports/executions.ts'
import type { Ids } from '../../src/ports/ids.ts'
import type { NewJob } from '../../src/ports/jobs.ts'
import type { Released, ReleaseOrder } from '../../src/ports/maintenance.ts'
import type { Claimed, ClaimedBatch, ClaimedLive, Ending, FinishAnswer } from '../../src/ports/queue.ts'
import type { FireAnswer, SlotToFire } from '../../src/ports/slots.ts'
import type { StorePorts } from '../../src/ports/store.ts'

/** A store, the ids of its caller and its clock. */
export interface ScenarioStore extends StorePorts {
  ids: Ids
  now(): Promise<EpochMs>
}

export type Scenario = Awaited<ReturnType<typeof createScenario<ScenarioStore>>>

export async function createScenario<Bundle extends ScenarioStore>(bundle: Bundle) {
  const { ids, jobs, slots, queue, executions, slotLedger, leases } = bundle
  const now = await bundle.now()
  const base = now - (now % 1_000) - 600_000

  /** Whole seconds after a moment ten minutes ago. */
  const at = (seconds: number): EpochMs => epochMs(base + seconds * 1_000)

  /** An id in this partition. */
  function jobIdIn(partitionId: number): string {
    while (true) {
      const jobId = ids.next()
      if (partitionOf(jobId) === partitionId) return jobId
    }
  }

  /** A job that runs each second, active, with its first slot at second 0. */
  async function createJob(changes: Partial<NewJob> = {}): Promise<NewJob> {
    const job: NewJob = {
      jobId: ids.next(),
      version: 1,
      tenantId: defaultTenantId,
      key: null,
      name: 'report',
      description: null,
      tags: [],
      schedule: { type: 'CRON', cron_expression: '* * * * * *' },
      impliedDst: [],
      anchorAt: at(0),
      execution: {
        type: 'http',
        callback_url: 'https://example.com/report',
        method: 'POST',
        headers: {},
        timeout_seconds: 30,
      },
      retryPolicy: { max_retries: 3, backoff: 'FIXED', initial_delay_ms: 1_000, max_delay_ms: 60_000 },
      priority: 5,
      overlapPolicy: 'SKIP',
      misfirePolicy: 'FIRE_ONCE',
      misfireWindowSeconds: null,
      jitterSeconds: 0,
      concurrencyLimit: null,
      concurrencyKey: null,
      dependsOn: [],
      metadata: {},
      createdAt: at(0),
      createdBy: 'tester',
      status: 'ACTIVE',
      slotAt: at(0),
      immediate: null,
      ...changes,
    }
    assert.equal(await jobs.create(job), 'created')
    return job
  }

  function slotOf(job: NewJob, second: number, changes: Partial<SlotToFire> = {}): SlotToFire {
    return {
      jobId: job.jobId,
      version: 1,
      slot: at(second),
      dueAt: at(second),
      executionId: ids.nextBatch(),
      route: routeOf(job),
      lane: sharedLane,
      priority: job.priority,
      overlapPolicy: job.overlapPolicy,
      limited: isLimited(job),
      ownRow: hasOwnRows(job),
      late: false,
      owedTo: null,
      owedPaceMs: 0,
      recordedAt: null,
      previousSlot: null,
      skipped: [],
      skip: null,
      runs: null,
      calendars: null,
      graphId: null,
      runId: null,
      move: null,
      ...changes,
    }
  }

  /** Fires one slot and returns its execution. */
  async function fire(job: NewJob, second: number, changes: Partial<SlotToFire> = {}): Promise<string> {
    const item = slotOf(job, second, changes)
    assert.deepEqual(await slots.fire([item]), [])
    return item.executionId
  }

  /** Tries to fire one slot and returns the answer. */
  async function tryFire(
    job: NewJob,
    second: number,
    changes: Partial<SlotToFire> = {},
  ): Promise<FireAnswer['answer'] | 'fired'> {
    const item = slotOf(job, second, changes)
    const [answer, ...more] = await slots.fire([item])
    assert.deepEqual(more, [])
    if (answer !== undefined) assert.deepEqual([answer.jobId, answer.slot], [item.jobId, item.slot])
    return answer?.answer ?? 'fired'
  }

  /** Fires one slot of each job into one batch. */
  async function fireBatch(members: readonly NewJob[], second: number, changes: Partial<SlotToFire> = {}) {
    const batchId = ids.nextBatch()
    const items = members.map((job, position) =>
      slotOf(job, second, { executionId: executionIdAt(batchId, position), ...changes }),
    )
    assert.deepEqual(await slots.fire(items), [])
    return { batchId, executionIds: items.map(({ executionId }) => executionId) }
  }

  async function trigger(
    job: NewJob,
    changes: { payloadOverride?: unknown; lane?: string } = {},
  ): Promise<string> {
    const { jobId, tenantId } = job
    const executionId = ids.next()
    const outcome = await jobs.trigger({ tenantId, jobId, executionId, lane: sharedLane, ...changes })
    assert.equal(outcome.kind, 'triggered')
    return executionId
  }

  /** By default one of ours that makes HTTP calls. */
  async function addWorker(changes: Partial<Worker> = {}): Promise<string> {
    const workerId = ids.next()
    const ours = { tenantId: null, executors: ['http'], handlers: [] } as const
    const rest = { host: 'host-a', port: null, version: '1.2.3', labels: [], capacity: 50 }
    await leases.register({ workerId, ...ours, ...rest, ...changes })
    return workerId
  }

  function claim(workerId: string, count = 100, lane: string = sharedLane): Promise<Claimed> {
    return claimOn(workerId, [serverRoute], count, lane)
  }

  function claimOn(
    workerId: string,
    routes: readonly string[],
    count = 100,
    lane: string = sharedLane,
  ): Promise<Claimed> {
    return queue.claim({ workerId, routes, lanes: [{ lane, count }], hosts: [], batchesMax: 20 })
  }

  async function claimBatch(workerId: string): Promise<ClaimedBatch> {
    const { batches, live } = await claim(workerId)
    assert.deepEqual([batches.length, live.length], [1, 0])
    return batches[0]!
  }

  async function claimLive(workerId: string): Promise<ClaimedLive> {
    const { batches, live } = await claim(workerId)
    assert.deepEqual([batches.length, live.length], [0, 1])
    return live[0]!
  }

  /** Ends every execution of a batch in the same way. */
  async function finishBatch(workerId: string, batch: ClaimedBatch, ending: Ending): Promise<void> {
    const { batchId, fence } = batch
    const endings = batch.positions.map((position) => ({ position, ending }))
    assert.deepEqual(await queue.finishBatches(workerId, [{ batchId, fence, endings }]), allHeld)
  }

  async function finishLive(
    workerId: string,
    { executionId, fence, attempt }: ClaimedLive,
    ending: Exclude<Ending, { kind: 'running' }>,
  ): Promise<void> {
    assert.deepEqual(await queue.finishLive(workerId, [{ executionId, fence, attempt, ending }]), allHeld)
  }

  /** Claims every waiting execution and ends it as succeeded. */
  async function runAll(): Promise<void> {
    const workerId = await addWorker()
    const { batches, live } = await claim(workerId)
    for (const batch of batches) await finishBatch(workerId, batch, succeeded())
    for (const one of live) await finishLive(workerId, one, succeeded())
  }

  function succeeded(changes: Partial<AttemptEnd> = {}): { kind: 'ended'; end: AttemptEnd } {
    return {
      kind: 'ended',
      end: {
        outcome: 'succeeded',
        startedAt: at(300),
        finishedAt: at(301),
        durationMs: 1_000,
        httpStatus: 200,
        error: null,
        preview: 'done',
        retryAt: null,
        deadReason: null,
        ...changes,
      },
    }
  }

  function failed(changes: Partial<AttemptEnd> = {}): { kind: 'ended'; end: AttemptEnd } {
    const error = { type: 'HTTP_ERROR', message: 'the target answered 500' } as const
    return succeeded({ outcome: 'failed', httpStatus: 500, error, preview: 'oops', ...changes })
  }

  /** Fails, and may be tried again at once. */
  const failedForNow = () => failed({ retryAt: at(302) })
  /** Fails for good. */
  const died = (changes: Partial<AttemptEnd> = {}) =>
    failed({ deadReason: 'MAX_RETRIES_EXCEEDED', ...changes })

  /** Still runs, and is not overdue for long. */
  const running = (startedAt = at(1)) => ({ kind: 'running', startedAt, deadline: at(4_200) }) as const
  /** Its target has answered 202. */
  const awaiting = (startedAt = at(299), deadline = at(4_200)) =>
    ({ kind: 'awaiting', startedAt, deadline }) as const

  async function view(executionId: string, tenantId = defaultTenantId): Promise<ExecutionView> {
    const found = await executions.getExecution(tenantId, executionId)
    assert(found !== null, `there is no execution ${executionId}`)
    return found
  }

  async function statusOf(executionId: string): Promise<string> {
    return (await view(executionId)).status
  }

  /** The executions of a job, newest first. */
  async function list(job: NewJob, changes: Partial<ExecutionQuery> = {}) {
    const { tenantId, jobId } = job
    const page = await executions.listExecutions({ ...allExecutions, tenantId, jobId, ...changes })
    assert(page !== null)
    return page
  }

  /** Latest first, skipped under any version. */
  async function skipsOf({ tenantId, jobId }: NewJob) {
    const range = { from: at(-86_400), to: at(86_400), limit: 100 }
    const skips = await slotLedger.listSkips({ tenantId, jobId, ...range })
    return skips?.map(({ from, to, count, reason }) => ({ from, to, count, reason })) ?? null
  }

  /** Releases the waiting executions of these jobs, as the release loop does. */
  function release(...wanted: readonly NewJob[]): Promise<Released> {
    return bundle.maintenance.release(
      wanted.map(({ jobId }) => jobId),
      (job, keys) => orderOf(job, keys),
    )
  }

  /** The order of the release loop, with other places for owed slots if need be. */
  function orderOf(
    job: WaitingJob,
    keys: KeyCounts,
    place: { lane?: string; priority?: number } = {},
  ): ReleaseOrder {
    const plan = planRelease(job, keys)
    const given = { lane: sharedLane, priority: job.priority, ...place }
    const { graphId } = job
    const executions = (plan.owed?.slots ?? []).map((slot) => ({
      executionId: ids.nextBatch(),
      runId: graphId === null ? null : runIdOfSlot(graphId, slot),
      ...given,
    }))
    return { ...plan, executions }
  }

  /** Reads the state of a job that a release is based on; nothing is released. */
  async function look({ jobId }: NewJob): Promise<WaitingJob> {
    let seen: WaitingJob | null = null
    await bundle.maintenance.release([jobId], (job) => {
      seen = job
      return { go: [], owed: null, cancel: null, next: null, executions: [] }
    })
    assert(seen !== null, `there is no job ${jobId}`)
    return seen
  }

  /** The owed slots of the job. */
  async function owedBy(job: NewJob) {
    const { owed } = await look(job)
    return owed === null ? null : { from: owed.from, to: owed.to }
  }

  return {
    ...bundle,
    ...{ at, jobIdIn, createJob, slotOf, fire, tryFire, fireBatch, trigger, addWorker, claim, claimOn },
    ...{ claimBatch, claimLive, finishBatch, finishLive, runAll, succeeded, failed, failedForNow, died },
    ...{ running, awaiting },
    ...{ view, statusOf, list, skipsOf, release, orderOf, look, owedBy },
  }
}

/** The answer to a finish when everything was held and nothing of it cancelled. */
export const allHeld: FinishAnswer = { missing: [], cancelled: [], left: [] }

/** The answer to a finish about batches or executions that were not held. */
export const notHeld = (...missing: string[]): FinishAnswer => ({ missing, cancelled: [], left: [] })

/** Slots that were missed. */
export const missed = (range: Omit<SkippedSlots, 'reason'>): SkippedSlots[] => [
  { ...range, reason: 'misfire' },
]

/** Every execution of the default tenant. */
export const allExecutions: ExecutionQuery = {
  tenantId: defaultTenantId,
  jobId: null,
  status: null,
  kind: null,
  errorType: null,
  deadLetter: null,
  workerId: null,
  tag: null,
  q: null,
  from: null,
  to: null,
  before: null,
  limit: 50,
}
