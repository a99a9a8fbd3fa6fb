// The worker role: its loops and how it stops.
import { artifactRoute, shellRoute } from '../domain/queue/route.ts'
import { workerBeatMs } from '../domain/queue/worker.ts'
import { whenAnswered } from '../lib/retry-until-available.ts'
import type { Taker } from '../ports/direct-dispatch.ts'
import type { LocalExecutor } from '../ports/executor.ts'
import { StoredSecrets } from '../postgres/access/secrets.ts'
import { StoredGraphRuns } from '../postgres/graphs/graph-runs.ts'
import { StoredLogs } from '../postgres/history/logs.ts'
import { StoredAttempts } from '../postgres/queue/attempts.ts'
import { StoredQueue } from '../postgres/queue/queue.ts'
import { StoredRoutes } from '../postgres/queue/routes.ts'
import { StoredWorkers } from '../postgres/queue/workers.ts'
import { version } from '../process/version.ts'
import { sendNotesEveryMs } from '../worker/attempt-updates.ts'
import { refreshKeysEveryMs } from '../worker/call-signer.ts'
import { claimEveryMs } from '../worker/claim.ts'
import { createRouteFinder } from '../worker/find-routes.ts'
import type { LocalExecutors } from '../worker/run-local.ts'
import { lookForCancelsEveryMs, Worker, type WorkerOptions } from '../worker/worker.ts'
import { leaseLoop, type RoleDeps } from './scheduler.ts'

const httpCapacity = 2_000
/**
 * When a handler kills its process these are lost with it, and run again one by one. Only while they end fast: as many as ended
 * within 200 ms. [m] no-ops: 16,000 a second with 500, 32,000 with 2,000, no more with 4,000.
 */
const handlersAheadMax = 2_000
const tendIdleMs = 1_000
const finishIdleMs = 1_000
const drainLookMs = 10

/** What a worker runs. Anything but HTTP may kill the process it runs in, so it has one of its own. */
export type WorkerTask =
  | { kind: 'http' }
  | { kind: 'commands'; capacity: number; executors: Pick<LocalExecutors, 'shell' | 'artifact'> }
  | {
      kind: 'handlers'
      capacity: number
      tenantId: string
      /** By name. */
      handlers: readonly string[]
      labels: readonly string[]
      executor: LocalExecutor
    }

export interface RunningWorker {
  /** Takes nothing more; returns once all is done, or when the time is over. */
  drain(withinMs: number): Promise<void>
  /** Hands back what is left, and the lease. */
  release(): Promise<void>
  utilization(): number
  /** Takes what is triggered in this process; null: it does not make HTTP calls. */
  taker: Taker | null
}

export async function startWorker(
  { config, world, database, leaseDatabase, wakeup, startLoop, publicUrl, isPressed }: RoleDeps,
  task: WorkerTask = { kind: 'http' },
): Promise<RunningWorker> {
  const worker = new Worker(
    {
      ...world,
      version,
      publicUrl,
      isPressed,
      queue: new StoredQueue(database),
      graphRuns: new StoredGraphRuns(database),
      attempts: new StoredAttempts(database),
      logs: new StoredLogs(database),
      secrets: new StoredSecrets(database),
      leases: new StoredWorkers(leaseDatabase),
      executors: executorsOf(task),
      onEnded: () => finish.wake(),
      onTaken: () => tend.wake(),
      onLeft: () => claim.wake(),
      onFinished({ retries, handedBack }) {
        claim.wake() // there is room again
        wakeup.send('waiting')
        if (retries) wakeup.send('retries')
        if (handedBack) wakeup.send('queue')
      },
    },
    { ...placeOf(task, new StoredRoutes(database)), outageMs: config.outageMs },
  )
  // Whoever sees us ready finds the worker registered.
  await whenAnswered(world, () => worker.lease.beat())
  startLoop('hold worker lease', workerBeatMs, () => worker.lease.beat(), leaseLoop)
  const finish = startLoop('finish executions', finishIdleMs, () => worker.finish())
  const tend = startLoop('tend executions', tendIdleMs, () => worker.tend())
  const claim = startLoop('claim executions', claimEveryMs, () => worker.claim())
  const cancels = startLoop('look for cancels', lookForCancelsEveryMs, () => worker.lookForCancels())
  if (task.kind === 'http') {
    const keys = startLoop('refresh signing keys', refreshKeysEveryMs, () => worker.refreshKeys())
    wakeup.on('keys', () => keys.wake())
    const beside = startLoop('claim beside', claimEveryMs, () => worker.claimBeside())
    wakeup.on('shared', () => {
      if (worker.isClaiming) beside.wake()
    })
  } else startLoop('send notes', sendNotesEveryMs, () => worker.sendNotes())
  wakeup.on('queue', () => claim.wake())
  wakeup.on('cancels', () => cancels.wake())
  return {
    async drain(withinMs) {
      const untilMs = world.clock.monotonicMs() + withinMs
      await worker.drain()
      while (!worker.isIdle && world.clock.monotonicMs() < untilMs) await world.timers.wait(drainLookMs)
    },
    release: () => worker.release(),
    utilization: () => worker.hand.size / worker.hand.capacity,
    taker: task.kind === 'http' ? worker.taker : null,
  }
}

function executorsOf(task: WorkerTask): LocalExecutors {
  if (task.kind === 'http') return {}
  return task.kind === 'commands' ? task.executors : { worker: task.executor }
}

function placeOf(task: WorkerTask, routes: StoredRoutes): Omit<WorkerOptions, 'outageMs'> {
  if (task.kind === 'http') return { labels: [], capacity: httpCapacity }
  const { capacity } = task
  if (task.kind === 'handlers') {
    const { tenantId, handlers, labels } = task
    return {
      tenantId,
      handlers,
      labels,
      capacity,
      aheadMax: handlersAheadMax,
      routes: createRouteFinder(routes, task),
    }
  }
  const { shell, artifact } = task.executors
  const claimed = [...(shell ? [shellRoute] : []), ...(artifact ? [artifactRoute] : [])]
  return { labels: [], capacity, routes: claimed }
}
