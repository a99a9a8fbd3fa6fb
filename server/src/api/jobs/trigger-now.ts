// Triggers a job. A trigger that is committed alone is claimed on insert by the worker of this process: one transaction
// from the request to the call, not two. A trigger that may still be undone, or answered again, is claimed like any
// other.
import { sharedLane } from '../../domain/queue/lane.ts'
import type { DirectDispatch, Reservation } from '../../ports/direct-dispatch.ts'
import type { Jobs, TriggerOrder, TriggerOutcome } from '../../ports/jobs.ts'
import type { Claimed } from '../../ports/queue.ts'
import type { Requests, WriteStores } from '../../ports/requests.ts'

/** Hands the worker of this process to each request without a key: its writes are committed as they are made. */
export function withDirectDispatch(requests: Requests, direct: DirectDispatch | null): Pick<Requests, 'run'> {
  if (direct === null) return requests
  return {
    run: (terms, work) =>
      terms.once === null && !terms.dryRun
        ? requests.run(terms, (stores) => work({ ...stores, direct }))
        : requests.run(terms, work),
  }
}

export async function triggerNow(
  { jobs, direct }: Pick<WriteStores, 'jobs' | 'direct'>,
  order: TriggerOrder,
): Promise<TriggerOutcome> {
  // An execution in a tenant's own lane waits there for its share.
  const reservation = order.lane === sharedLane ? (direct?.reserve(1, [order.tenantId]) ?? null) : null
  if (reservation === null) return jobs.trigger(order)
  const outcome = await triggerFor(jobs, order, reservation)
  // A trigger that waits for the lock of a job holds no reservation in the meantime.
  return outcome.kind === 'locked' ? jobs.trigger(order) : outcome
}

async function triggerFor(
  jobs: Jobs,
  order: TriggerOrder,
  reservation: Reservation,
): Promise<TriggerOutcome> {
  // Not known, until we know.
  let claimed: Claimed | null = null
  try {
    const { workerId, route } = reservation
    const outcome = await jobs.trigger({ ...order, direct: { workerId, route } })
    const execution = outcome.kind === 'triggered' ? outcome.claimed : null
    claimed = { batches: [], live: execution === null ? [] : [execution] }
    return outcome
  } finally {
    reservation.end(claimed)
  }
}
