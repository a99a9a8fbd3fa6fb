// A calendar: days and windows under a name, in which the jobs that name it do not run.
import type { EpochMs } from '../../lib/time/epoch.ts'
import type { DayOrWindow } from '../schedule/exclusions.ts'

/** Of a tenant. */
export const calendarsMax = 1_000

export interface Calendar {
  /** Unique within the tenant. */
  name: string
  description: string | null
  /** Read on the clock of each schedule's zone. */
  entries: readonly DayOrWindow[]
  /** Grows with each change. */
  revision: number
  createdAt: EpochMs
  createdBy: string
  updatedAt: EpochMs
  updatedBy: string
}
