// The server side of the worker protocol, scripted: a queue in memory, and failures on demand.
import type { TestContext } from 'node:test'
import type { ClaimedExecution, ReportRequest, WorkerHeartbeatRequest } from '#contract/worker.ts'
import { cleanUp } from '../../server/test/cleanup.ts'
import { type Answer, type Asked, problem, type ScriptedApi, startScriptedApi } from './scripted-api.ts'

type Entry = NonNullable<WorkerHeartbeatRequest['running']>[number]
type Result = ReportRequest['results'][number]
type Fault = (asked: Asked) => Answer | 'silence' | 'break' | null

export interface ScriptedWorkers extends ScriptedApi {
  /** Puts executions into the queue; returns their ids. */
  enqueue(count: number, change?: Partial<ClaimedExecution>): string[]
  /** Entries of heartbeats that arrived, and results that were taken, in order. */
  entries: Entry[]
  beats: WorkerHeartbeatRequest[]
  results: Result[]
  /** The number of results in each report. */
  reports: number[]
  claims: { limit: number }[]
  workers: string[]
  signedOff: string[]
  /** Claims that wait for something. */
  parked: number
  cancelled: Set<string>
  lost: Set<string>
  /** Asked before anything else; null: as usual. */
  fault: Fault
}

export async function startScriptedWorkers(t: TestContext): Promise<ScriptedWorkers> {
  const queue: ClaimedExecution[] = []
  const waiting = new Set<() => void>()
  let made = 0
  const api = await startScriptedApi(t, (asked) => scripted.fault(asked) ?? answer(asked))
  cleanUp(t, () => {
    for (const wake of waiting) wake()
  })

  async function answer({ method, path, body, isGone }: Asked): Promise<Answer> {
    if (method === 'PUT') return { status: 201, body: { job_id: `job of ${path.split('/').at(-1)}` } }
    if (method === 'DELETE') {
      scripted.signedOff.push(path.split('/').at(-1)!)
      return { body: { returned: 0 } }
    }
    if (path === '/api/v1/workers') {
      const id = uuid(++made)
      scripted.workers.push(id)
      return { status: 201, body: { worker_id: id, heartbeat_seconds: 0.05, lease_seconds: 10 } }
    }
    if (path.endsWith('/claim')) {
      const { limit } = body as { limit: number }
      scripted.claims.push({ limit })
      if (queue.length === 0) {
        scripted.parked++
        await new Promise<void>((resolve) => waiting.add(resolve))
        scripted.parked--
      }
      return { body: { executions: isGone() ? [] : queue.splice(0, limit) } }
    }
    if (path.endsWith('/heartbeat')) {
      const beat = body as WorkerHeartbeatRequest
      scripted.beats.push(beat)
      scripted.entries.push(...beat.running!)
      const ids = beat.running!.map((entry) => entry.execution_id)
      const among = (some: Set<string>) => ids.filter((id) => some.has(id))
      return { body: { cancelled: among(scripted.cancelled), lost: among(scripted.lost) } }
    }
    const { results } = body as ReportRequest
    scripted.reports.push(results.length)
    scripted.results.push(...results)
    return { body: { accepted: results.length, cancelled: [], refused: [] } }
  }

  const scripted: ScriptedWorkers = {
    ...api,
    entries: [],
    beats: [],
    results: [],
    reports: [],
    claims: [],
    workers: [],
    signedOff: [],
    parked: 0,
    cancelled: new Set(),
    lost: new Set(),
    fault: () => null,
    enqueue(count, change = {}) {
      const ids = Array.from({ length: count }, () => uuid(++made))
      queue.push(...ids.map((id) => ({ ...execution, execution_id: id, ...change })))
      for (const wake of waiting) {
        waiting.delete(wake)
        wake()
      }
      return ids
    },
  }
  return scripted
}

const execution: ClaimedExecution = {
  execution_id: '',
  job_id: '01941f29-7c00-7000-8000-000000000000',
  job_name: 'a job',
  handler: 'work',
  kind: 'trigger',
  scheduled_time: '2026-01-01T00:00:00Z',
  attempt_number: 1,
  fence: 1,
  idempotency_key: 'a-key',
  timeout_seconds: 300,
  heartbeat_timeout_seconds: null,
  graph_run_id: null,
}

function uuid(n: number): string {
  return `01941f29-7c00-7000-8000-${String(n).padStart(12, '0')}`
}

export const lostWorker = () => problem(409, 'WORKER_LOST')

/** Waits for a condition, not for a time. */
export async function until(condition: () => boolean, what = condition.toString()): Promise<void> {
  for (let waitedMs = 0; waitedMs < 30_000; waitedMs += 2) {
    if (condition()) return
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
  throw new Error(`not within 30 s: ${what}`)
}
