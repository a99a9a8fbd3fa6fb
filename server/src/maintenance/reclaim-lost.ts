// Handles the death of a worker: once its lease stood still for the term, the executions it held are recorded as lost
// and run elsewhere, and its row is deleted, and with it its right to act. A worker that beat in the last moment keeps
// it: the reclaim names the counter that was seen.
import { LeaseWatch, type Silence } from '../domain/queue/lease-watch.ts'
import { workerLeaseMs } from '../domain/queue/worker.ts'
import type { Clock } from '../ports/clock.ts'
import type { Maintenance } from '../ports/maintenance.ts'
import { emitSettled } from '../telemetry/emit-settled.ts'
import { workerReclaimed } from '../telemetry/events.ts'

export interface ReclaimDeps {
  clock: Pick<Clock, 'monotonicMs'>
  maintenance: Pick<Maintenance, 'watch' | 'reclaim'>
}

export const reclaimEveryMs = 1_000
/** Dead workers in one step: the watch of the others must not be broken off while many are reclaimed. */
const reclaimedMax = 400
/** At the same time; each of them is a few statements that wait for the disk. */
const reclaimsMax = 4

export function createLeaseWatch(): LeaseWatch {
  return new LeaseWatch({ termMs: workerLeaseMs, lookMsMax: 3 * reclaimEveryMs })
}

export interface Reclaimed {
  /** How many workers were declared dead. */
  count: number
  /** More workers are silent. */
  more: boolean
}

export async function reclaimLost(deps: ReclaimDeps, watch: LeaseWatch): Promise<Reclaimed> {
  const beats = await deps.maintenance.watch()
  const silent = watch.look(beats, deps.clock.monotonicMs())
  const queue = silent.slice(0, reclaimedMax).values()
  let count = 0
  const reclaimNext = async () => {
    for (const silence of queue) if (await reclaimOne(deps, silence)) count += 1
  }
  const reclaiming = Array.from({ length: Math.min(reclaimsMax, silent.length) }, reclaimNext)
  // All have ended before the next step begins, be it that one of them failed.
  for (const ended of await Promise.allSettled(reclaiming))
    if (ended.status === 'rejected') throw ended.reason
  return { count, more: silent.length > reclaimedMax }
}

/** Whether it was dead, and nobody else has reclaimed it. */
async function reclaimOne({ maintenance }: ReclaimDeps, silence: Silence): Promise<boolean> {
  const settled = await maintenance.reclaim(silence)
  if (settled === 'alive') return false
  emitSettled(settled)
  workerReclaimed.emit({ workerId: silence.holderId, silentMs: silence.silentMs })
  return true
}
