// A worker incarnation: one run of one process that runs attempts. A restart makes a new one with a new id.
import type { EpochMs } from '../lib/epoch.ts'

/** What a worker says of itself. */
export const WORKER_STATUSES = ['ACTIVE', 'DRAINING'] as const
export type WorkerStatus = (typeof WORKER_STATUSES)[number]

export interface Worker {
  workerId: string
  host: string
  version: string
  labels: readonly string[]
  /** Executions it runs at once, at most. */
  capacity: number
}

/** As others see it: DEAD once it has been silent for `workerLeaseMs`. */
export interface WorkerView extends Worker {
  status: WorkerStatus | 'DEAD'
  currentLoad: number
  registeredAt: EpochMs
  beatAt: EpochMs
}

export const workerBeatMs = 3_000
export const workerLeaseMs = 10_000
export const workersMax = 10_000
