// A worker incarnation: one run of a process that runs attempts. A restart makes a new one with a new id.
import type { EpochMs } from '../../lib/time/epoch.ts'
import type { Executor } from '../jobs/job.ts'

/** The statuses that a worker reports of itself. */
export const WORKER_STATUSES = ['ACTIVE', 'DRAINING'] as const
export type WorkerStatus = (typeof WORKER_STATUSES)[number]

export interface Worker {
  workerId: string
  /** The tenant that owns its handlers; null: it is one of ours. */
  tenantId: string | null
  host: string
  version: string
  labels: readonly string[]
  executors: readonly Executor[]
  /** By name, when it runs handlers. */
  handlers: readonly string[]
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
/** Per worker. */
export const handlersMax = 200
export const labelsMax = 32
