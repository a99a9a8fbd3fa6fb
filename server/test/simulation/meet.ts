// Counts the events that a simulation should meet now and then, from the program's own events and from the replies of
// the store: faults that nothing ran into prove nothing.
import type { OwnAttempt } from '../../src/ports/queue.ts'
import {
  attemptRefused,
  clockLost,
  schedulerExpelled,
  slotsFired,
  workerReclaimed,
} from '../../src/telemetry/events.ts'
import type { LinkDeps } from './link.ts'
import type { Witness } from './witness.ts'
import type { Simulation } from './world.ts'

/** Ends when the returned object is disposed. */
export function countEvents(sim: Simulation, witness: Witness): Disposable {
  const subscriptions = new DisposableStack()
  subscriptions.use(attemptRefused.subscribe(() => sim.meet('stale result refused')))
  subscriptions.use(clockLost.subscribe(() => sim.meet('clock given up')))
  subscriptions.use(schedulerExpelled.subscribe(() => sim.meet('partition takeover')))
  subscriptions.use(
    workerReclaimed.subscribe(({ workerId }) => {
      sim.meet('worker reclaimed')
      witness.seeReclaimed(workerId)
    }),
  )
  subscriptions.use(
    slotsFired.subscribe(({ taken }) => {
      if (taken > 0) sim.meet('fire of a taken slot', taken)
    }),
  )
  return subscriptions
}

/** Counts the results of calls that were carried out. */
export function countAnswers(sim: () => Simulation): NonNullable<LinkDeps['onDone']> {
  return (name, args, result, isLate) => {
    if (isLate && isOfTheDead(sim(), name, args)) sim().meet('late effect after a take-over')
    if (name !== 'queue.findOwn') return
    void result.then(
      (answer) => {
        const own = (answer as OwnAttempt[]).filter(({ status }) => status === 'recorded').length
        if (own > 0) sim().meet('unknown commit found as own', own)
      },
      () => {},
    )
  }
}

/** Whether the sender has lost its lease since. */
function isOfTheDead({ tables }: Simulation, name: string, [first]: unknown[]): boolean {
  const { leases, schedulers } = tables.store
  if (name.startsWith('partitions.')) return typeof first === 'string' && !schedulers.has(first)
  if (!/^(queue|leases)\./.test(name)) return false
  const workerId = typeof first === 'string' ? first : (first as { workerId?: string }).workerId
  return workerId !== undefined && !leases.has(workerId)
}
