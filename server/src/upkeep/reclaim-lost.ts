// What happens when a worker dies: once its lease stood still for the term, its row is deleted, and with it its
// right to act. A worker that beat in the last moment keeps it: the delete names the counter that was seen.
import { LeaseWatch } from '../domain/lease-watch.ts'
import { workerLeaseMs } from '../domain/worker.ts'
import type { Clock } from '../ports/clock.ts'
import type { Upkeep } from '../ports/upkeep.ts'
import { workerReclaimed } from '../telemetry/events.ts'

export interface ReclaimDeps {
  clock: Pick<Clock, 'monotonicMs'>
  upkeep: Upkeep
}

export const reclaimEveryMs = 1_000

export function createLeaseWatch(): LeaseWatch {
  return new LeaseWatch({ termMs: workerLeaseMs, lookMsMax: 3 * reclaimEveryMs })
}

export async function reclaimLost({ clock, upkeep }: ReclaimDeps, watch: LeaseWatch): Promise<'idle'> {
  const beats = await upkeep.watch()
  for (const silence of watch.look(beats, clock.monotonicMs())) {
    if ((await upkeep.reclaim(silence)) === 'alive') continue
    workerReclaimed.emit({ workerId: silence.workerId, silentMs: silence.silentMs })
  }
  return 'idle'
}
