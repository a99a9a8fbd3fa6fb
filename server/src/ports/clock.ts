// The only two times there are. Nobody reads the host's wall clock to decide anything.
import type { EpochMs } from '../lib/epoch.ts'

export interface Clock {
  /** The database's clock: our monotonic clock plus the measured offset. Due times and history. */
  databaseNow(): EpochMs
  /** Never goes back. Timeouts and durations only. */
  monotonicMs(): number
}
