// A wait with a limit that leaves no timer behind.
import type { Timers } from '../../ports/timers.ts'

/** The value, or 'late' if it took longer. The work itself continues: give it a signal if it can be stopped. */
export async function withDeadline<T>(timers: Timers, ms: number, work: Promise<T>): Promise<T | 'late'> {
  const done = new AbortController()
  const late = timers.wait(ms, done.signal).then(() => 'late' as const)
  try {
    return await Promise.race([work, late])
  } finally {
    done.abort()
  }
}
