// The worker role: its loops and how it stops.
import { retryUntilAvailable } from '../lib/retry-until-available.ts'
import type { DirectDispatch } from '../ports/direct-dispatch.ts'
import type { LocalExecutor } from '../ports/executor.ts'
import type { Routes } from '../ports/routes.ts'
import { version } from '../process/version.ts'
import { createRouteFinder } from '../worker/find-routes.ts'
import type { LocalExecutors } from '../worker/run-local.ts'
import { Worker, type WorkerOptions } from '../worker/worker.ts'
import type { RoleDeps } from './roles.ts'

export const httpCapacity = 2_000
/**
 * Executions of handlers claimed ahead, at most: never more than ended within the last 200 ms. If a handler kills its process,
 * these are lost with it and run again one by one. [m] no-ops: 16,000 a second with 500, 32,000 with 2,000, no more with 4,000.
 */
const handlersAheadMax = 2_000
const drainLookMs = 10

/** The assignment of a worker. An executor that may kill its process has a process of its own. */
export type WorkerAssignment =
  | { kind: 'http' | 'commands'; capacity: number; executors: LocalExecutors }
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
  /** Claims nothing more; returns `idle` once every execution has ended, or `cut short` when the time is over. */
  drain(withinMs: number): Promise<'idle' | 'cut short'>
  /** Hands back the remaining executions, and the lease. */
  release(): Promise<void>
  utilization(): number
  /** Whether it is registered and its lease is renewed: 'ok', or why not. */
  check(): string
  /** Claims executions that are enqueued in this process, on insert; null: the worker does not make HTTP calls. */
  directDispatch: DirectDispatch | null
}

export interface WorkerRoleDeps extends RoleDeps {
  /** The scheduler of this process has more to fire than it can for a while. */
  isBackpressured: () => boolean
}

export async function startWorker(
  { config, world, store, leaseStore, wakeup, startLoop, port, publicUrl, isBackpressured }: WorkerRoleDeps,
  held: WorkerAssignment = { kind: 'http', capacity: httpCapacity, executors: {} },
): Promise<RunningWorker> {
  const { queue, peers, tenants, graphRuns, attempts, logs, secrets, routes } = store
  const executors = held.kind === 'handlers' ? { worker: held.executor } : held.executors
  const worker = new Worker(
    {
      ...world,
      version,
      publicUrl,
      isBackpressured,
      queue,
      peers,
      tenants,
      graphRuns,
      attempts,
      logs,
      secrets,
      leases: leaseStore.leases,
      executors,
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
    { ...placeOf(held, routes), port, outageMs: config.outageMs },
  )
  // A server that says it is ready has registered its worker.
  await retryUntilAvailable(world, () => worker.lease.beat())
  // Before the first claim: the calls of one tenant could have every place by the time the loop has looked, and a tenant's rate
  // of calls is shared with the workers that are there.
  await retryUntilAvailable(world, () => worker.watchPeers())
  wakeup.send('peers')
  startLoop('hold worker lease', () => worker.lease.beat())
  const finish = startLoop('finish executions', () => worker.finish())
  const expireBatches = startLoop('expire batches', () => worker.expireBatches())
  const claim = startLoop('claim executions', () => worker.claim())
  startLoop('watch peers', () => worker.watchPeers())
  startLoop('poll cancellations', () => worker.pollCancellations())
  if (held.kind === 'http') {
    startLoop('refresh signing keys', () => worker.refreshKeys())
    startLoop('claim shared lane', () => worker.claimSharedLane(), { mayWake: () => worker.isClaiming })
  }
  if (held.kind !== 'http' || Object.keys(executors).length > 0)
    startLoop('send attempt updates', () => worker.sendUpdates())
  return {
    async drain(withinMs) {
      const untilMs = world.clock.monotonicMs() + withinMs
      await worker.drain()
      while (!worker.isIdle && world.clock.monotonicMs() < untilMs) await world.timers.wait(drainLookMs)
      return worker.isIdle ? 'idle' : 'cut short'
    },
    release: () => worker.release(),
    utilization: () => worker.inFlight.size / worker.inFlight.capacity,
    check: () => worker.lease.check(),
    directDispatch: held.kind === 'http' ? worker.directDispatch : null,
  }
}

function placeOf(held: WorkerAssignment, routes: Routes): Omit<WorkerOptions, 'port' | 'outageMs'> {
  const { capacity } = held
  if (held.kind !== 'handlers') return { labels: [], capacity }
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
