// The clock of a simulated server: a monotonic clock with an origin and a drift of its own, and the real code that
// follows the database's clock by samples over the same faulty connection as every other call. It belongs to the host:
// a restarted server finds it unchanged, but must measure anew.
import { DatabaseClock } from '../../src/lib/time/clock.ts'
import type { Timer, Timers } from '../../src/ports/timers.ts'
import type { Queries } from '../../src/postgres/connection/database.ts'
import { type VirtualTimers, type VirtualWorld, waitOn } from '../virtual-world.ts'
import type { Caller } from './ports.ts'

export interface HostClock {
  /** The reading of its monotonic clock when the simulation began. */
  originMs: number
  /** Its ms in one of ours: 1.01 is one that runs fast. */
  rate: number
}

export function createServerClock(timers: VirtualTimers, { originMs, rate }: HostClock): DatabaseClock {
  return new DatabaseClock(() => originMs + timers.nowMs * rate)
}

/** The queries of `postgres/connection/clock-sync.ts`, sent over a link. */
export function createClockQueries(world: VirtualWorld, call: Caller): Queries {
  const read = async () => ({ rows: [{ ms: world.clock.databaseNow() }], count: 1 })
  return { query: (() => call('clock.read', read, [])) as Queries['query'] }
}

/** Timers that go by the clock of their host. */
export class HostTimers implements Timers {
  readonly #timers: Pick<Timers, 'schedule'>
  readonly #rate: number

  constructor(timers: Pick<Timers, 'schedule'>, { rate }: HostClock) {
    this.#timers = timers
    this.#rate = rate
  }

  schedule(ms: number, callback: () => void): Timer {
    return this.#timers.schedule(this.#rate === 1 ? ms : ms / this.#rate, callback)
  }

  wait(ms: number, signal?: AbortSignal): Promise<void> {
    return waitOn(this, ms, signal)
  }
}
