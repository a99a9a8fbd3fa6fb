// A scheduler: partitions, window, wheel and fire put together. Its steps are called by loops, or by a simulator.
import { LaneChooser } from '../domain/queue/lane.ts'
import type { Clock } from '../ports/clock.ts'
import type { Taker } from '../ports/direct-dispatch.ts'
import type { Ids } from '../ports/ids.ts'
import type { Partitions } from '../ports/partitions.ts'
import type { Slots } from '../ports/slots.ts'
import { TimerWheel } from './due-queue.ts'
import { findOverdue, type LoadDeps, loadWindow, takeChanges } from './fill-window.ts'
import { type FireDeps, fireDue } from './fire-due.ts'
import { Pressure } from './herd-backpressure.ts'
import { PartitionLease } from './hold-partitions.ts'
import { Window } from './load-window.ts'
import { HoldUps } from './outage-detector.ts'

export interface SchedulerDeps {
  clock: Clock
  ids: Ids
  slots: Slots
  /** Takes what is little with its commit; null: nobody does. */
  taker: Taker | null
  partitions: Partitions
  /** On a connection of its own. */
  lease: Pick<Partitions, 'join' | 'beat' | 'leave'>
  /** Called when partitions were taken, or all are to be loaded anew. */
  onHeld: () => void
  /** Called when the wheel has something new. */
  onPut: () => void
  onEnqueued: FireDeps['onEnqueued']
  onOwed: () => void
}

export interface SchedulerOptions {
  misfireAfterMs: number
}

export class Scheduler {
  readonly lease: PartitionLease
  readonly #load: LoadDeps
  readonly #fire: FireDeps
  readonly #options: SchedulerOptions
  readonly #pressure = new Pressure()

  constructor(deps: SchedulerDeps, options: SchedulerOptions) {
    const { clock, ids, slots, partitions, lease } = deps
    const wheel = new TimerWheel()
    const window = new Window()
    this.#options = options
    this.#load = { clock, slots, wheel, window, onPut: deps.onPut, onReload: deps.onHeld }
    const { taker, onEnqueued, onOwed } = deps
    const own = { lanes: new LaneChooser(), holdUps: new HoldUps(), few: { firedSinceMs: null } }
    this.#fire = { clock, ids, slots, wheel, window, ...own, taker, onEnqueued, onOwed }
    this.lease = new PartitionLease({
      clock,
      ids,
      partitions,
      lease,
      onHeld(partitionIds) {
        window.hold(partitionIds)
        wheel.removePartitions((partitionId) => window.has(partitionId))
        deps.onHeld()
      },
    })
  }

  load(): Promise<'more' | 'idle' | number> {
    return loadWindow(this.#load)
  }

  takeChanges(): Promise<'more' | 'idle'> {
    return takeChanges(this.#load)
  }

  /** Whether a herd is being fired: see `Pressure`. */
  get isPressed(): boolean {
    return this.#pressure.look(this.#fire.wheel.waiting, this.#fire.clock.monotonicMs())
  }

  fire(): Promise<'more' | number> {
    return fireDue(this.#fire, this.#options)
  }

  findOverdue(): Promise<'idle'> {
    return findOverdue(this.#load)
  }
}
