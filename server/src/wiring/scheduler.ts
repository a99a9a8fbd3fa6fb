// The scheduler role: its loops, and how it leaves.
import { retryUntilAvailable } from '../lib/retry-until-available.ts'
import type { DirectDispatch } from '../ports/direct-dispatch.ts'
import { firesAtOnce } from '../scheduler/fire-due.ts'
import { Scheduler } from '../scheduler/scheduler.ts'
import type { RoleDeps } from './roles.ts'

export interface RunningScheduler {
  /** Whether more is due than will be fired within moments. */
  isBackpressured(): boolean
  /** Whether it takes part in sharing the partitions: 'ok', or why not. */
  check(): string
  /** Gives the partitions back. */
  leave(): Promise<void>
}

/** `directDispatch`: the worker of this process; null: it has none. */
export async function startScheduler(
  { config, world, store, leaseStore, wakeup, startLoop }: RoleDeps,
  directDispatch: DirectDispatch | null,
): Promise<RunningScheduler> {
  const { slots, partitions, executionBudgets, tenantRoom } = store
  const scheduler = new Scheduler(
    {
      ...world,
      slots,
      directDispatch,
      executionBudgets,
      tenantRoom,
      partitions,
      lease: leaseStore.partitions,
      onHeld: () => load.wake(),
      onPut: () => {
        for (const fire of fires) fire.wake()
      },
      onEnqueued(isShared) {
        wakeup.send('queue')
        if (isShared) wakeup.send('shared')
      },
      onOwed: () => wakeup.send('waiting'),
    },
    config,
  )
  const load = startLoop('load window', () => scheduler.load())
  const fires = Array.from({ length: firesAtOnce }, () => startLoop('fire due slots', () => scheduler.fire()))
  startLoop('take changes', () => scheduler.takeChanges())
  startLoop('find overdue jobs', () => scheduler.recoverOverdue())
  startLoop('refresh budgets', () => scheduler.refreshBudgets())
  // A server that says it is ready holds its partitions.
  await retryUntilAvailable(world, () => scheduler.lease.beat())
  await retryUntilAvailable(world, () => scheduler.lease.share())
  startLoop('hold scheduler lease', () => scheduler.lease.beat())
  startLoop('share partitions', () => scheduler.lease.share())
  return {
    isBackpressured: () => scheduler.checkBackpressure(),
    check: () => scheduler.lease.check(),
    leave: () => scheduler.lease.leave(),
  }
}
