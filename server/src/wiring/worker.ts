// The worker role: its loops and how it stops.
import { artifactRoute, shellRoute } from '../domain/queue/route.ts'
import { workerBeatMs } from '../domain/queue/worker.ts'
import { retryUntilAvailable } from '../lib/retry-until-available.ts'
import type { DirectDispatch } from '../ports/direct-dispatch.ts'
import type { LocalExecutor } from '../ports/executor.ts'
import { PostgresSecrets } from '../postgres/access/secrets.ts'
import { PostgresGraphRuns } from '../postgres/graphs/graph-runs.ts'
import { PostgresLogs } from '../postgres/history/logs.ts'
import { PostgresAttempts } from '../postgres/queue/attempts.ts'
import { PostgresQueue } from '../postgres/queue/queue.ts'
import { PostgresRoutes } from '../postgres/queue/routes.ts'
import { PostgresWorkers } from '../postgres/queue/workers.ts'
import { version } from '../process/version.ts'
import { sendUpdatesEveryMs } from '../worker/attempt-updates.ts'
import { refreshKeysEveryMs } from '../worker/call-signer.ts'
import { claimEveryMs } from '../worker/claim.ts'
import { createRouteFinder } from '../worker/find-routes.ts'
import type { LocalExecutors } from '../worker/run-local.ts'
import { pollCancellationsEveryMs, Worker, type WorkerOptions } from '../worker/worker.ts'
import { leaseLoop, type RoleDeps } from './scheduler.ts'

const httpCapacity = 2_000
/**
 * When a handler kills its process these are lost with it, and run again one by one. Only while they end fast: as many as ended
 * within 200 ms. [m] no-ops: 16,000 a second with 500, 32,000 with 2,000, no more with 4,000.
 */
const handlersAheadMax = 2_000
const expireBatchesIdleMs = 1_000
const finishIdleMs = 1_000
const drainLookMs = 10

/** What a worker runs. Anything but HTTP may kill the process it runs in, so it has one of its own. */
export type WorkerAssignment =
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
  /** Claims executions that are enqueued in this process, on insert; null: the worker does not make HTTP calls. */
  directDispatch: DirectDispatch | null
}

export async function startWorker(
  { config, world, database, leaseDatabase, wakeup, startLoop, publicUrl, isBackpressured }: RoleDeps,
  held: WorkerAssignment = { kind: 'http' },
): Promise<RunningWorker> {
  const worker = new Worker(
    {
      ...world,
      version,
      publicUrl,
      isBackpressured,
      queue: new PostgresQueue(database),
      graphRuns: new PostgresGraphRuns(database),
      attempts: new PostgresAttempts(database),
      logs: new PostgresLogs(database),
      secrets: new PostgresSecrets(database),
      leases: new PostgresWorkers(leaseDatabase),
      executors: executorsOf(held),
      onEnded: () => finish.wake(),
      onClaimed: () => expireBatches.wake(),
      onClaimDue: () => claim.wake(),
      onFinished({ retries, handedBack }) {
        claim.wake() // there is room again
        wakeup.send('waiting')
        if (retries) wakeup.send('retries')
        if (handedBack) wakeup.send('queue')
      },
    },
    { ...placeOf(held, new PostgresRoutes(database)), outageMs: config.outageMs },
  )
  // Whoever sees us ready finds the worker registered.
  await retryUntilAvailable(world, () => worker.lease.beat())
  startLoop('hold worker lease', workerBeatMs, () => worker.lease.beat(), leaseLoop)
  const finish = startLoop('finish executions', finishIdleMs, () => worker.finish())
  const expireBatches = startLoop('expire batches', expireBatchesIdleMs, () => worker.expireBatches())
  const claim = startLoop('claim executions', claimEveryMs, () => worker.claim())
  const cancels = startLoop('poll cancellations', pollCancellationsEveryMs, () => worker.pollCancellations())
  if (held.kind === 'http') {
    const keys = startLoop('refresh signing keys', refreshKeysEveryMs, () => worker.refreshKeys())
    wakeup.on('keys', () => keys.wake())
    const sharedLane = startLoop('claim shared lane', claimEveryMs, () => worker.claimSharedLane())
    wakeup.on('shared', () => {
      if (worker.isClaiming) sharedLane.wake()
    })
  } else startLoop('send attempt updates', sendUpdatesEveryMs, () => worker.sendUpdates())
  wakeup.on('queue', () => claim.wake())
  wakeup.on('cancels', () => cancels.wake())
  return {
    async drain(withinMs) {
      const untilMs = world.clock.monotonicMs() + withinMs
      await worker.drain()
      while (!worker.isIdle && world.clock.monotonicMs() < untilMs) await world.timers.wait(drainLookMs)
    },
    release: () => worker.release(),
    utilization: () => worker.inFlight.size / worker.inFlight.capacity,
    directDispatch: held.kind === 'http' ? worker.directDispatch : null,
  }
}

function executorsOf(held: WorkerAssignment): LocalExecutors {
  if (held.kind === 'http') return {}
  return held.kind === 'commands' ? held.executors : { worker: held.executor }
}

function placeOf(held: WorkerAssignment, routes: PostgresRoutes): Omit<WorkerOptions, 'outageMs'> {
  if (held.kind === 'http') return { labels: [], capacity: httpCapacity }
  const { capacity } = held
  if (held.kind === 'handlers') {
    const { tenantId, handlers, labels } = held
    return {
      tenantId,
      handlers,
      labels,
      capacity,
      aheadMax: handlersAheadMax,
      routes: createRouteFinder(routes, held),
    }
  }
  const { shell, artifact } = held.executors
  const claimed = [...(shell ? [shellRoute] : []), ...(artifact ? [artifactRoute] : [])]
  return { labels: [], capacity, routes: claimed }
}
