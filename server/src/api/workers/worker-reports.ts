// POST /api/v1/workers/heartbeat: a worker is alive, and the progress of its executions. POST /api/v1/workers/report:
// how they ended. Both may be repeated: known facts change nothing.
import {
  type LogPartGiven,
  ReportReply,
  ReportRequest,
  WorkerHeartbeatReply,
  WorkerHeartbeatRequest,
} from '@carillon/contract/worker.ts'
import type { FastifyInstance } from 'fastify'
import { firstLineOf } from '../../domain/history/log.ts'
import { type EpochMs, epochMs } from '../../lib/time/epoch.ts'
import type { Attempts, HeldAttempt, UpdateAnswer } from '../../ports/attempts.ts'
import type { Executions } from '../../ports/executions.ts'
import type { Leases } from '../../ports/leases.ts'
import type { LogPart, Logs } from '../../ports/logs.ts'
import type { Workers } from '../../ports/workers.ts'
import { checkCheckpoint, checkEnd, type EndGiven, findSaid, toReport } from '../executions/attempt-report.ts'
import { type EndDeps, endAttempts } from '../executions/end-attempts.ts'
import { toLogPart } from '../executions/log-lines.ts'
import { noteRefused, type RejectedResult } from '../executions/rejected-results.ts'
import { ApiError } from '../http/api-error.ts'
import { readId } from '../http/path-id.ts'
import { refuseField } from '../http/problem.ts'
import { route } from '../http/route.ts'
import { readBodyWords } from '../http/words.ts'
import { requireWorker, workerLost } from './find-worker.ts'

export interface WorkerReportDeps extends EndDeps {
  workers: Pick<Workers, 'find'>
  leases: Pick<Leases, 'beat'>
  attempts: Attempts
  logs: Pick<Logs, 'append'>
  executions: Pick<Executions, 'getExecution'>
  /** Called when a worker has reported results: it may have room for more. */
  onRoom: (worker: { workerId: string; tenantId: string }) => void
}

interface Mark {
  execution_id: string
  attempt_number: number
  fence: number
}

const tag = 'workers'
/** Thousands of executions, with their reports. */
const bodyLimit = 4 * 1024 * 1024
/** Maximum concurrent lookups for a single report. */
const lookupsMax = 8

export function workerReportRoutes(app: FastifyInstance, deps: WorkerReportDeps): void {
  const { clock, workers, leases, attempts, logs } = deps

  app.post<{ Body: WorkerHeartbeatRequest }>(
    '/workers/heartbeat',
    route(tag, 'operate', 'Send the heartbeat of a worker and the progress of its executions', {
      counted: 'apart',
      description: 'One heartbeat for the whole worker, every `heartbeat_seconds`.',
      body: WorkerHeartbeatRequest,
      answer: WorkerHeartbeatReply,
      options: { bodyLimit, preValidation: readBodyWords(WorkerHeartbeatRequest) },
    }),
    async ({ tenantId, body }): Promise<WorkerHeartbeatReply> => {
      const { worker_id: given, status = 'ACTIVE', running = [] } = body
      checkMarks(running, 'running')
      for (const [at, { checkpoint }] of running.entries())
        checkCheckpoint(checkpoint, `/running/${at}/checkpoint`)
      const now = clock.databaseNow()
      const { workerId } = await requireWorker(workers, tenantId, given)
      const parts = logPartsOf(running, { tenantId, now, field: 'running' })
      if ((await leases.beat(workerId, { status, currentLoad: running.length })) === 'lost')
        throw workerLost(given)
      const held = await findHeld(attempts, workerId, running)
      const kept = parts.filter(({ executionId }) => held.has(executionId))
      if (kept.length > 0) await logs.append(kept)
      const updates = running.flatMap((one) => {
        const mark = held.get(one.execution_id.toLowerCase())
        if (mark === undefined) return []
        const { executionId, jobId, attempt, fence } = mark
        const { running_ms: ms, alive = false, progress, message, checkpoint } = one
        return {
          ...{ executionId, jobId, attempt, fence, workerId, alive },
          ...(ms === undefined ? {} : { startedAt: epochMs(now - ms) }),
          ...(progress === undefined ? {} : { progress }),
          ...(message === undefined ? {} : { message }),
          ...(checkpoint === undefined ? {} : { checkpoint }),
        }
      })
      const answers = updates.length === 0 ? [] : await attempts.update(updates)
      const idsWith = (status: UpdateAnswer['status']) =>
        answers.filter((one) => one.status === status).map(({ executionId }) => executionId)
      const strange = running.map((one) => one.execution_id.toLowerCase()).filter((id) => !held.has(id))
      return { cancelled: idsWith('cancelled'), lost: [...strange, ...idsWith('gone')] }
    },
  )

  app.post<{ Body: ReportRequest }>(
    '/workers/report',
    route(tag, 'operate', 'Report the results of executions', {
      counted: 'apart',
      description:
        'Repeat the request until it is answered: a result that was accepted before is accepted again, and a different one for the same attempt is refused.',
      body: ReportRequest,
      answer: ReportReply,
      options: { bodyLimit, preValidation: readBodyWords(ReportRequest) },
    }),
    async ({ tenantId, body }): Promise<ReportReply> => {
      const { results } = body
      checkMarks(results, 'results')
      for (const [at, one] of results.entries()) checkEnd(one, `/results/${at}`)
      const now = clock.databaseNow()
      const parts = logPartsOf(results, { tenantId, now, field: 'results' })
      const workerId = await requireReporter(deps, tenantId, body)
      const held = await findHeld(attempts, workerId, results)
      // Before the end is written: a reader that sees it finds the whole log. A worker may only report on executions
      // that it holds.
      const kept = parts.filter(({ executionId }) => held.has(executionId))
      if (kept.length > 0) await logs.append(kept)
      const orders = results.flatMap((one) => {
        const attempt = held.get(one.execution_id.toLowerCase())
        if (attempt === undefined) return []
        const times = { now, durationMs: one.duration_ms ?? null, startedAt: attempt.startedAt }
        const word = one.status === 'released' ? null : toReport(one, { ...times, httpStatus: null })
        return [{ held: attempt, workerId, word }]
      })
      const ended = await endAttempts(deps, orders)
      deps.onRoom({ workerId, tenantId })
      const others = results.filter((one) => !held.has(one.execution_id.toLowerCase()))
      const before = await findRecorded(deps.executions, { tenantId, workerId }, others)
      await noteRefused(deps, before.late)
      const refused = [...ended.refused, ...before.refused]
      return {
        accepted: results.length - refused.length,
        cancelled: [...ended.cancelled, ...before.cancelled],
        refused,
      }
    },
  )
}

function logPartsOf(
  marks: readonly (Mark & { logs?: LogPartGiven })[],
  { tenantId, now, field }: { tenantId: string; now: EpochMs; field: string },
): LogPart[] {
  return marks.flatMap(({ logs, execution_id: id, attempt_number: attempt, fence }, at) => {
    if (logs === undefined) return []
    const of = { tenantId, executionId: id.toLowerCase(), attempt }
    const part = toLogPart(logs, of, { now, place: `/${field}/${at}/logs` })
    return [{ ...part, firstLine: part.firstLine + firstLineOf({ attempt, fence }) }]
  })
}

function checkMarks(marks: readonly Mark[], field: string): void {
  const seen = new Set<string>()
  for (const [at, one] of marks.entries()) {
    const executionId = one.execution_id.toLowerCase()
    if (seen.has(executionId)) throw refuseField(`/${field}/${at}/execution_id`, 'is given twice')
    seen.add(executionId)
  }
}

/** The attempts that this worker holds under the attempt number and fence that it gives, by execution. */
async function findHeld(
  attempts: Pick<Attempts, 'find'>,
  workerId: string,
  marks: readonly Mark[],
): Promise<Map<string, HeldAttempt>> {
  if (marks.length === 0) return new Map()
  const said = new Map(marks.map((one) => [one.execution_id.toLowerCase(), one]))
  const found = await attempts.find([...said.keys()])
  const own = found.filter((one) => {
    const mark = said.get(one.executionId)!
    return one.workerId === workerId && one.attempt === mark.attempt_number && one.fence === mark.fence
  })
  return new Map(own.map((one) => [one.executionId, one]))
}

/** A worker that was declared dead receives that answer; its results come too late, and that is recorded. */
async function requireReporter(
  deps: WorkerReportDeps,
  tenantId: string,
  { worker_id: given, results }: ReportRequest,
): Promise<string> {
  try {
    return (await requireWorker(deps.workers, tenantId, given)).workerId
  } catch (error) {
    const workerId = readId(given)
    if (error instanceof ApiError && workerId !== null) {
      const { late } = await findRecorded(deps.executions, { tenantId, workerId }, results)
      await noteRefused(deps, late)
    }
    throw error
  }
}

/** An attempt that is not held may have been recorded before, with an answer that was lost. */
async function findRecorded(
  executions: Pick<Executions, 'getExecution'>,
  { tenantId, workerId }: { tenantId: string; workerId: string },
  marks: readonly (Mark & EndGiven)[],
): Promise<{ refused: string[]; cancelled: string[]; late: RejectedResult[] }> {
  const refused: string[] = []
  const cancelled: string[] = []
  const late: RejectedResult[] = []
  const waiting = marks.values()
  const lookUp = async () => {
    for (const one of waiting) {
      const { execution_id: given, attempt_number: attempt, fence, status } = one
      const executionId = given.toLowerCase()
      const execution = status === 'released' ? null : await executions.getExecution(tenantId, executionId)
      const said = execution === null ? null : findSaid(execution, { ...one, attempt })
      if (said?.workerId !== workerId || !said.isSame) {
        refused.push(executionId)
        const record = execution?.attempts.find((ended) => ended.attempt === attempt)
        // It was this worker's, and ended otherwise than it says.
        if (status !== 'released' && record?.workerId === workerId)
          late.push({ tenantId, executionId, attempt, fence, workerId, status, differs: said !== null })
      } else if (said.outcome === 'cancelled') cancelled.push(executionId)
    }
  }
  await Promise.all(Array.from({ length: lookupsMax }, lookUp))
  return { refused, cancelled, late }
}
