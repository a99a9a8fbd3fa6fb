// GET /api/v1/jobs/{job_id}/why: one sentence why it ran or did not, then or now. Gathers the facts; the words are in
// domain/why/why.ts and domain/why/why-slot.ts.
import { WhyQuery, WhyReply } from '@carillon/contract/slot.ts'
import type { FastifyInstance } from 'fastify'
import type { JobView } from '../../domain/jobs/job.ts'
import { isOfOpenRun } from '../../domain/queue/release.ts'
import { dueAtOf } from '../../domain/schedule/jitter.ts'
import { nextRun } from '../../domain/schedule/next-run.ts'
import { lateAfterMs } from '../../domain/scheduling/misfire.ts'
import { type Answer, awaitsEnd, firstOf, type NowFacts, whyNow, whyUnended } from '../../domain/why/why.ts'
import { noTurnText } from '../../domain/why/why-graph.ts'
import { shareHeldBy } from '../../domain/why/why-share.ts'
import { whyNoSlot, whySlot } from '../../domain/why/why-slot.ts'
import { runnersOf } from '../../domain/why/why-worker.ts'
import { type EpochMs, epochMs, toRfc3339 } from '../../lib/time/epoch.ts'
import { dayMs } from '../../lib/time/units.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Executions, ExecutionView, UnderWay, UnendedExecution } from '../../ports/executions.ts'
import type { Jobs } from '../../ports/jobs.ts'
import type { Peers } from '../../ports/peers.ts'
import type { Tenants } from '../../ports/tenants.ts'
import type { Runners, Workers } from '../../ports/workers.ts'
import { toScheduledTime } from '../executions/execution-view.ts'
import { requireInstant } from '../http/instant.ts'
import { aJob } from '../http/path-id.ts'
import { route } from '../http/route.ts'
import {
  findAgain,
  findAt,
  findGraph,
  findOpenRun,
  findRunAhead,
  type GraphFactsDeps,
} from './graph-facts.ts'
import { JobLedger, type LedgerDeps, type LedgerSlot } from './job-ledger.ts'

export interface JobWhyDeps extends LedgerDeps, GraphFactsDeps {
  clock: Clock
  jobs: Pick<Jobs, 'get'>
  executions: Pick<Executions, 'getExecution' | 'listExecutions' | 'underWay'>
  workers: Pick<Workers, 'runners' | 'countHeld'>
  peers: Pick<Peers, 'countRunning'>
  tenants: Pick<Tenants, 'countWithJobs' | 'workLimits'>
}

interface Question {
  ledger: JobLedger
  at: EpochMs
  /** Somebody asks about an instant, be it this one. */
  isNamed: boolean
  now: EpochMs
}

const reachMs = 366 * dayMs

export function jobWhyRoutes(app: FastifyInstance, deps: JobWhyDeps): void {
  app.get<{ Params: { job_id: string }; Querystring: WhyQuery }>(
    '/jobs/:job_id/why',
    route('executions', 'read', 'Why it ran or did not, in one sentence', {
      description:
        'For an instant in the past: the outcome of the slot at that second. Without `at`: why the job does not run right now.',
      querystring: WhyQuery,
      answer: WhyReply,
    }),
    async ({ tenantId, params, query }): Promise<WhyReply> => {
      const jobId = aJob.read(params.job_id)
      const now = deps.clock.databaseNow()
      const at = query.at === undefined ? now : epochMs(Math.floor(requireInstant(query.at, 'at')))
      const job = aJob.found(await deps.jobs.get(tenantId, jobId), jobId)
      const ledger = await JobLedger.open(deps, job, now)
      return toReply(jobId, at, await answerTo(deps, { ledger, at, isNamed: query.at !== undefined, now }))
    },
  )
}

async function answerTo(deps: JobWhyDeps, question: Question): Promise<Answer> {
  const { ledger, at, now } = question
  const second = epochMs(Math.floor(at / 1_000) * 1_000)
  const isToCome = second > now
  // Of a job that fires no more, or not for now, that is the answer.
  if (!question.isNamed || (isToCome && ledger.job.status !== 'ACTIVE'))
    return whyNow(await factsOfNow(deps, question))
  // With a fraction of a second up to the next one: a stored time with a fraction runs there.
  const window = { from: second, to: epochMs(Math.max(second + 999, Math.ceil(at / 1_000) * 1_000)) }
  const [slot] = (await ledger.list({ window, limit: 1, order: 'asc' })).slots
  if (slot !== undefined) return answerSlot(deps, question, slot)
  if (ledger.job.dependsOn.length > 0) return answerTurn(deps, question, second)
  const [before, after] = await Promise.all([
    findBefore(ledger, second),
    findAfter(ledger, epochMs(second + 999)),
  ])
  return whyNoSlot(second, { before, after })
}

async function answerSlot(deps: JobWhyDeps, question: Question, found: LedgerSlot): Promise<Answer> {
  const { ledger } = question
  const { job } = ledger
  const { slot, executionId, range } = found
  const execution =
    executionId === null ? null : await deps.executions.getExecution(job.tenantId, executionId)
  const waiting = await answerWaiting(deps, question, execution)
  if (waiting !== null) return waiting
  return whySlot({
    ...found,
    job,
    dueAt: dueAtOf(job, slot),
    execution,
    version: range?.version ?? null,
    blocker: found.reason === 'overlap' ? await findBlocker(deps, ledger, slot) : null,
    instead: found.reason === 'misfire' ? await findInstead(deps, ledger, range!.to) : null,
    pause: range?.pause ?? null,
    exclusion: found.reason === 'exclusion' ? ledger.nameExclusion(slot, range) : null,
    again: execution === null ? null : await findAgain(deps, job, execution),
  })
}

/** The part of a job with dependencies in the graph run of that second. */
async function answerTurn(deps: JobWhyDeps, question: Question, second: EpochMs): Promise<Answer> {
  const { job } = question.ledger
  const found = await findAt(deps, job, second)
  const execution =
    found === null ? null : await deps.executions.getExecution(job.tenantId, found.executionId)
  if (execution === null) {
    const text = noTurnText(second, (await findGraph(deps, job))!)
    return { text, status: 'NO_SLOT', reason: 'dependency', slot: null, executionId: null }
  }
  const waiting = await answerWaiting(deps, question, execution)
  if (waiting !== null) return waiting
  const { slot, status, executionId } = execution
  const nothing = { reason: null, version: null, blocker: null, instead: null, exclusion: null, pause: null }
  const again = await findAgain(deps, job, execution)
  return whySlot({ ...nothing, job, slot, status, dueAt: slot, executionId, execution, again })
}

/** The reason why an execution waits is known for the present only; null: it does not wait. */
async function answerWaiting(
  deps: JobWhyDeps,
  question: Question,
  execution: ExecutionView | null,
): Promise<Answer | null> {
  if (execution?.status !== 'PENDING' && execution?.status !== 'WAITING_DEPENDENCIES') return null
  const facts = await factsOfNow(deps, question, execution.executionId)
  const one = facts.underWay.executions.find(({ executionId }) => executionId === execution.executionId)
  return one === undefined ? null : whyUnended(facts, one)
}

/** The execution of an earlier slot that was under way when this one came, or its graph run that was. */
async function findBlocker(
  { executions, slotLedger, graphRuns }: JobWhyDeps,
  ledger: JobLedger,
  slot: EpochMs,
): Promise<string | null> {
  const { tenantId, jobId } = ledger.job
  const window = { from: epochMs(Math.max(0, slot - reachMs)), to: epochMs(slot - 1) }
  const query = { tenantId, jobId, ...window, limit: 1, order: 'desc', lateMs: ledger.lateMs() } as const
  const executionId = (await slotLedger.listSlots(query))?.executions[0]?.executionId
  const one = executionId === undefined ? null : await executions.getExecution(tenantId, executionId)
  if (one === null) return null
  const isOver = one.finishedAt !== null && one.finishedAt <= slot && one.retryAt === null
  if (!isOver) return `the execution ${one.executionId}`
  const run = one.runId === null ? null : await graphRuns.get(tenantId, one.runId)
  const wasUnderWay = run !== null && (run.finishedAt === null || run.finishedAt > slot)
  return wasUnderWay ? `the graph run ${run.runId}` : null
}

/** The slot after a range of misfires, if it was among the missed ones. */
async function findInstead(deps: JobWhyDeps, ledger: JobLedger, to: EpochMs): Promise<EpochMs | null> {
  const next = await findAfter(ledger, to)
  if (next === null || next.executionId === null) return null
  const one = await deps.executions.getExecution(ledger.job.tenantId, next.executionId)
  const [first] = one?.attempts ?? []
  const madeAt = first?.enqueuedAt ?? one?.enqueuedAt ?? next.slot
  return madeAt - dueAtOf(ledger.job, next.slot) >= lateAfterMs ? next.slot : null
}

async function findBefore(ledger: JobLedger, at: EpochMs): Promise<LedgerSlot | null> {
  const window = { from: epochMs(Math.max(0, at - reachMs)), to: epochMs(at - 1) }
  return (await ledger.list({ window, limit: 1, order: 'desc' })).slots[0] ?? null
}

async function findAfter(ledger: JobLedger, at: EpochMs): Promise<LedgerSlot | null> {
  const window = { from: epochMs(at + 1), to: epochMs(at + reachMs) }
  return (await ledger.list({ window, limit: 1, order: 'asc' })).slots[0] ?? null
}

/** `about`: the execution that is asked about; by default the first that there is to tell of. */
async function factsOfNow(
  deps: JobWhyDeps,
  { ledger, now }: Question,
  about: string | null = null,
): Promise<NowFacts> {
  const { job, schedule } = ledger
  const [underWay, graph, runners, last, after] = await Promise.all([
    deps.executions.underWay(job.tenantId, job.jobId),
    findGraph(deps, job),
    deps.workers.runners(runnersOf(job)),
    findBefore(ledger, epochMs(now + 1)),
    findAfter(ledger, now),
  ])
  // With its jitter the latest slot may not be due yet.
  const next = last?.status === 'SCHEDULED' ? last : after
  if (underWay === null) throw new Error(`the job ${job.jobId} is gone`)
  const { count, hasRoom } = runners
  const run = schedule === null || next === null ? null : nextRun(schedule, epochMs(next.slot - 1))
  const isOut = next?.reason === 'exclusion'
  return {
    job,
    now,
    underWay,
    workers: {
      count,
      hasRoom,
      shareHeld: await findShareHeld(deps, job, runners, underWay),
      limit: await findLimit(deps, job, underWay),
    },
    last,
    next:
      next === null
        ? null
        : {
            slot: next.slot,
            dueAt: dueAtOf(job, next.slot),
            exclusion: isOut ? (ledger.nameExclusion(next.slot, null) ?? 'by its schedule') : null,
          },
    nextRunAt: run === null ? null : dueAtOf(job, run),
    graph,
    ...(await factsOfRuns(deps, job, underWay, about)),
  }
}

/** Null: the tenant may run more executions, or none of the job waits for a worker. */
async function findLimit(
  { peers, tenants }: JobWhyDeps,
  { tenantId }: JobView,
  { executions }: UnderWay,
): Promise<NowFacts['workers']['limit']> {
  if (!executions.some(({ state, host }) => state === 'ready' && host === null)) return null
  const [{ concurrentExecutionsMax: max = null } = {}] = await tenants.workLimits([tenantId])
  if (max === null) return null
  const [{ calls = 0, commands = 0, own = 0 } = {}] = await peers.countRunning([tenantId], [])
  const running = calls + commands + own
  return running < max ? null : { running, max }
}

/** Null: an execution finds a place, none waits for one, or workers of the tenant or too many of ours may take it. */
async function findShareHeld(
  { workers, tenants }: JobWhyDeps,
  { tenantId }: JobView,
  { count, own }: Runners,
  { executions }: UnderWay,
): Promise<number | null> {
  if (own.length < count || !executions.some(({ state, host }) => state === 'ready' && host === null))
    return null
  if ((await tenants.countWithJobs(2)) < 2) return null
  const held = await workers.countHeld(own.map(({ workerId }) => workerId))
  const byWorker = Map.groupBy(held, ({ workerId }) => workerId)
  const holding = own.map(({ workerId, capacity }) => {
    const loads = (byWorker.get(workerId) ?? []).map(
      (one) => [one.tenantId, { inFlight: one.held, long: one.long }] as const,
    )
    return { capacity, tenants: new Map(loads) }
  })
  return shareHeldBy(holding, tenantId)
}

async function factsOfRuns(
  deps: JobWhyDeps,
  job: JobView,
  underWay: UnderWay,
  about: string | null,
): Promise<Pick<NowFacts, 'run' | 'runAhead'>> {
  const { executions } = underWay
  const one = about === null ? firstOf(underWay) : executions.find((other) => other.executionId === about)
  const waiting = new Set(
    executions.filter(({ state }) => state === 'waiting').map(({ executionId }) => executionId),
  )
  const mayBeHeld = one === undefined ? awaitsEnd(job) : one.state === 'waiting'
  const isHeld = mayBeHeld && (one === undefined || !(await isInOpenRun(deps, job, one)))
  return {
    run: one?.state === 'blocked' ? await findOpenRun(deps, job, one.executionId) : null,
    runAhead: isHeld ? await findRunAhead(deps, job, waiting) : null,
  }
}

/** Whether an execution waits for no run, because it is part of an open run itself. */
async function isInOpenRun(
  { executions }: JobWhyDeps,
  { tenantId }: JobView,
  { kind, executionId }: UnendedExecution,
): Promise<boolean> {
  if (kind !== 'dependency' && kind !== 'retry') return false
  const { runId = null } = (await executions.getExecution(tenantId, executionId)) ?? {}
  return isOfOpenRun({ kind, runId })
}

function toReply(jobId: string, at: EpochMs, { text, status, reason, slot, executionId }: Answer): WhyReply {
  return {
    answer: text,
    at: toRfc3339(epochMs(Math.floor(at / 1_000) * 1_000)),
    job_id: jobId,
    status,
    ...(reason === null ? {} : { reason }),
    ...(slot === null ? {} : { scheduled_time: toScheduledTime(slot) }),
    ...(executionId === null ? {} : { execution_id: executionId }),
  }
}
