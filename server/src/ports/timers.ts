// The only way to wait. The virtual timers of the simulator skip idle time.
import type { StopSignal } from '../lib/stop.ts'

export interface Timers {
  /** Resolves after `ms`, or at once when the signal aborts: a cut-short wait is not an error. */
  wait(ms: number, signal?: StopSignal): Promise<void>
  /**
   * Calls back once after `ms`; with 0 in the next turn of the event loop. For callbacks that must interrupt other
   * work, such as the deadline of an attempt.
   */
  schedule(ms: number, callback: () => void): Timer
}

export interface Timer {
  cancel(): void
}
