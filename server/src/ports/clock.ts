// The only two times there are. Nobody reads the host's wall clock to decide anything.
import type { EpochMs } from '../lib/time/epoch.ts'

export interface Clock {
  /** The database's clock: our monotonic clock plus the measured offset. Due times and history. */
  databaseNow(): EpochMs
  /** How far `databaseNow` may be off at most; Infinity when it was not measured of late. */
  uncertaintyMs(): number
  /** Never goes back. Timeouts and durations only. */
  monotonicMs(): number
}
