// The worker role: its loops and how it stops.
import { workerBeatMs } from './domain/worker.ts'
import { StoredQueue } from './store/queue.ts'
import { StoredWorkers } from './store/workers.ts'
import { version } from './version.ts'
import type { RoleDeps } from './wire-scheduler.ts'
import { claimEveryMs } from './worker/claim.ts'
import { lookForCancelsEveryMs, Worker } from './worker/worker.ts'

const workerCapacity = 2_000
const tendIdleMs = 1_000
const finishIdleMs = 1_000
const drainLookMs = 10

export interface RunningWorker {
  /** Takes nothing more; returns once all is done, or when the time is over. */
  drain(withinMs: number): Promise<void>
  /** Hands back what is left, and the lease. */
  release(): Promise<void>
  utilization(): number
}

export async function startWorker({
  config,
  world,
  database,
  leaseDatabase,
  wakeup,
  startLoop,
}: RoleDeps): Promise<RunningWorker> {
  const worker = new Worker(
    {
      ...world,
      version,
      queue: new StoredQueue(database),
      leases: new StoredWorkers(leaseDatabase),
      onEnded: () => finish.wake(),
      onTaken: () => tend.wake(),
      onFinished({ retries, handedBack }) {
        claim.wake() // there is room again
        wakeup.send('waiting')
        if (retries) wakeup.send('retries')
        if (handedBack) wakeup.send('queue')
      },
    },
    { labels: [], capacity: workerCapacity, outageMs: config.outageMs },
  )
  // Whoever sees us ready finds the worker registered.
  await worker.lease.beat()
  startLoop('hold worker lease', workerBeatMs, () => worker.lease.beat())
  const finish = startLoop('finish executions', finishIdleMs, () => worker.finish())
  const tend = startLoop('tend executions', tendIdleMs, () => worker.tend())
  const claim = startLoop('claim executions', claimEveryMs, () => worker.claim())
  const cancels = startLoop('look for cancels', lookForCancelsEveryMs, () => worker.lookForCancels())
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
  }
}
