// A scheduler: partitions, window, due queue and fire put together. Its steps are called by loops, or by a simulator.
import { LaneChooser } from '../domain/queue/lane.ts'
import type { ExecutionBudgets } from '../ports/execution-budgets.ts'
import type { TenantRoom } from '../ports/tenant-room.ts'
import { SlotCharger } from './charge-slots.ts'
import { DueQueue } from './due-queue.ts'
import { fillWindow, type LoadDeps, recoverOverdue, takeChanges } from './fill-window.ts'
import { type FireDeps, fireDue } from './fire-due.ts'
import { HerdBackpressure } from './herd-backpressure.ts'
import { type PartitionDeps, PartitionLease } from './hold-partitions.ts'
import { LoadWindow } from './load-window.ts'
import { OutageDetector } from './outage-detector.ts'

export interface SchedulerDeps
  extends Pick<FireDeps, 'clock' | 'ids' | 'slots' | 'directDispatch' | 'onEnqueued' | 'onOwed'>,
    Pick<PartitionDeps, 'partitions' | 'lease'> {
  executionBudgets: ExecutionBudgets
  tenantRoom: Pick<TenantRoom, 'waitingRoom'>
  /** Called when the held partitions have changed, or all are to be loaded again. */
  onHeld: () => void
  /** Called when the due queue has new jobs. */
  onPut: () => void
}

export interface SchedulerOptions {
  misfireAfterMs: number
}

export class Scheduler {
  readonly lease: PartitionLease
  readonly #load: LoadDeps
  readonly #fire: FireDeps
  readonly #options: SchedulerOptions
  readonly #backpressure = new HerdBackpressure()

  constructor(deps: SchedulerDeps, options: SchedulerOptions) {
    const { clock, ids, slots, partitions, lease } = deps
    const dueQueue = new DueQueue()
    const window = new LoadWindow()
    this.#options = options
    this.#load = { clock, slots, dueQueue, window, onPut: deps.onPut, onReload: deps.onHeld }
    const { directDispatch, onEnqueued, onOwed } = deps
    const smallTenants = { firedSinceMs: null }
    const charger = new SlotCharger(deps)
    const own = { lanes: new LaneChooser(), outages: new OutageDetector(), smallTenants, charger }
    this.#fire = { clock, ids, slots, dueQueue, window, ...own, directDispatch, onEnqueued, onOwed }
    this.lease = new PartitionLease({
      clock,
      ids,
      partitions,
      lease,
      onHeld(partitionIds) {
        window.hold(partitionIds)
        dueQueue.removePartitions((partitionId) => window.has(partitionId))
        deps.onHeld()
      },
    })
  }

  load(): Promise<'more' | 'idle' | number> {
    return fillWindow(this.#load)
  }

  takeChanges(): Promise<'more' | 'idle'> {
    return takeChanges(this.#load)
  }

  /** Whether a herd is being fired: see `HerdBackpressure`. */
  checkBackpressure(): boolean {
    return this.#backpressure.check(this.#fire.dueQueue.waiting, this.#fire.clock.monotonicMs())
  }

  fire(): Promise<'more' | number> {
    return fireDue(this.#fire, this.#options)
  }

  refreshBudgets(): Promise<'idle'> {
    return this.#fire.charger.refresh()
  }

  recoverOverdue(): Promise<'idle'> {
    return recoverOverdue(this.#load)
  }
}
