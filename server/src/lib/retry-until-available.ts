// The first calls of a process: a database that is slow at this moment, or just fails over, must not cost the start.
import type { Clock } from '../ports/clock.ts'
import type { Timers } from '../ports/timers.ts'
import { Unavailable } from './unavailable.ts'

const waitedMsMax = 30_000
const againMs = 500

/** Asks until there is an answer, for half a minute at most; the call must be safe to repeat. */
export async function retryUntilAvailable<T>(
  { clock, timers }: { clock: Pick<Clock, 'monotonicMs'>; timers: Timers },
  ask: () => Promise<T>,
): Promise<T> {
  const untilMs = clock.monotonicMs() + waitedMsMax
  while (true) {
    try {
      return await ask()
    } catch (error) {
      if (!(error instanceof Unavailable) || clock.monotonicMs() >= untilMs) throw error
      await timers.wait(againMs)
    }
  }
}
