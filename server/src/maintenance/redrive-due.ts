// Dead letters of jobs that ask for it are redriven once automatically, when their time has come.
import type { LaneChooser } from '../domain/queue/lane.ts'
import type { Clock } from '../ports/clock.ts'
import type { DeadLetters } from '../ports/dead-letters.ts'
import type { Ids } from '../ports/ids.ts'

export interface RedriveDeps {
  clock: Pick<Clock, 'monotonicMs'>
  ids: Ids
  lanes: LaneChooser
  deadLetters: Pick<DeadLetters, 'findDue' | 'redrive'>
  /** Called after a commit that made something claimable, or let it wait for its turn. */
  onReady: () => void
}

const lettersMax = 200
export const redriveDueEveryMs = 5_000

export async function redriveDue(deps: RedriveDeps): Promise<'more' | 'idle'> {
  const { clock, ids, lanes, deadLetters, onReady } = deps
  const due = await deadLetters.findDue(lettersMax)
  let settled = 0
  let ready = 0
  for (const [tenantId, found] of Map.groupBy(due, (one) => one.tenantId)) {
    const letters = found.map(({ executionId }) => ({
      executionId,
      newExecutionId: ids.next(),
      lane: lanes.choose(tenantId, clock.monotonicMs()),
    }))
    const { redriven, jobDeleted } = await deadLetters.redrive({ tenantId, letters, uncharged: true })
    ready += redriven.length
    settled += redriven.length + jobDeleted.length
  }
  if (ready > 0) onReady()
  // Nothing settled: other schedulers are doing the same.
  return due.length === lettersMax && settled > 0 ? 'more' : 'idle'
}
