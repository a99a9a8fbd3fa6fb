// Whether executions of a tenant wait because the workers leave it no place: see domain/queue/worker-shares.ts. By the
// executions in the store; a worker decides by its own count, which also has the ones of the last moments.
import { type TenantLoad, WorkerShares } from '../queue/worker-shares.ts'

export interface HoldingWorker {
  capacity: number
  /** By tenant id. Quick ends are not known: only executions that have lasted count against the half of long calls. */
  tenants: ReadonlyMap<string, Pick<TenantLoad, 'inFlight' | 'long'>>
}

/** How many executions of the tenant these workers run, if none of them has a place for it; null: one has. */
export function shareHeldBy(workers: readonly HoldingWorker[], tenantId: string): number | null {
  let held = 0
  for (const worker of workers) {
    if (hasPlace(worker, tenantId)) return null
    held += worker.tenants.get(tenantId)?.inFlight ?? 0
  }
  return held === 0 ? null : held
}

function hasPlace({ capacity, tenants }: HoldingWorker, tenantId: string): boolean {
  const used = tenants.values().reduce((sum, { inFlight }) => sum + inFlight, 0)
  const roomOf = (isLong: boolean) => {
    const loads = [...tenants].map(([id, { inFlight, long }]): [string, TenantLoad] => [
      id,
      { inFlight: isLong ? long : inFlight, long, endedQuickly: 0 },
    ])
    return new WorkerShares({ capacity, limitsLong: isLong, free: capacity - used }, loads).roomOf(tenantId)
  }
  return roomOf(false) > 0 && roomOf(true) > 0
}
