// The tables that are partitioned by UTC day: their coming days are made ahead of time, so that no write waits for one.
import type { EpochMs } from '../lib/time/epoch.ts'

export interface DailyPartitions {
  /** Makes the coming days and drops the days past their retention. Safe to repeat, and to run in several processes. */
  keep(now: EpochMs): Promise<void>
}
