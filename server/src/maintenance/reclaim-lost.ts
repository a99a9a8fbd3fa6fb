// Handles the death of a worker: once its lease stood still for the term, the executions it held are recorded as lost
// and run elsewhere, and its row is deleted, and with it its right to act. A worker that beat in the last moment keeps
// it: the reclaim names the counter that was seen.
import { LeaseWatch } from '../domain/queue/lease-watch.ts'
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

export function createLeaseWatch(): LeaseWatch {
  return new LeaseWatch({ termMs: workerLeaseMs, lookMsMax: 3 * reclaimEveryMs })
}

/** Returns how many workers were declared dead. */
export async function reclaimLost({ clock, maintenance }: ReclaimDeps, watch: LeaseWatch): Promise<number> {
  const beats = await maintenance.watch()
  let reclaimed = 0
  for (const silence of watch.look(beats, clock.monotonicMs())) {
    const settled = await maintenance.reclaim(silence)
    if (settled === 'alive') continue
    emitSettled(settled)
    reclaimed += 1
    workerReclaimed.emit({ workerId: silence.workerId, silentMs: silence.silentMs })
  }
  return reclaimed
}
