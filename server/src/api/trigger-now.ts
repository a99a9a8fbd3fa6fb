// Triggers a job. Where the trigger is committed by itself, the worker beside us takes it with the commit: one transaction from
// the request to the call, not two. What may still be undone, or answered for again, is claimed like everything else.
import type { TriggerOrder, TriggerOutcome } from '../ports/jobs.ts'
import type { Claimed } from '../ports/queue.ts'
import type { WriteStores } from '../ports/requests.ts'

export async function triggerNow(
  { jobs, taker }: Pick<WriteStores, 'jobs' | 'taker'>,
  order: TriggerOrder,
): Promise<TriggerOutcome> {
  const taking = taker?.begin(1) ?? null
  if (taking === null) return jobs.trigger(order)
  // Not known, until we know.
  let claimed: Claimed | null = null
  try {
    const { workerId, route } = taking
    const outcome = await jobs.trigger({ ...order, taker: { workerId, route } })
    const taken = outcome.kind === 'triggered' ? outcome.claimed : null
    claimed = { batches: [], live: taken === null ? [] : [taken] }
    return outcome
  } finally {
    taking.end(claimed)
  }
}
