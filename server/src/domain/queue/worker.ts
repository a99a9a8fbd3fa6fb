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
  /** Where its process listens for HTTP; null: it does not listen, or does not say. */
  port: number | null
  version: string
  labels: readonly string[]
  executors: readonly Executor[]
  /** By name, when it runs handlers. */
  handlers: readonly string[]
  /** Executions it runs at once, at most. */
  capacity: number
}

/** The statuses of a worker that is gone: declared dead, or left in order. */
export const FORMER_STATUSES = ['DEAD', 'LEFT'] as const
export type FormerStatus = (typeof FORMER_STATUSES)[number]

/**
 * As others see it: DEAD once it has been silent for `workerLeaseMs`, and shown for `shownMs` more after it is gone.
 * Only a worker that is not gone may act.
 */
export interface WorkerView extends Worker {
  status: WorkerStatus | FormerStatus
  /** Executions that it has claimed and that have not ended; at most its capacity, though a worker of ours claims ahead. */
  currentLoad: number
  registeredAt: EpochMs
  beatAt: EpochMs
  /** When it left or was declared dead; null: it is not gone. */
  endedAt: EpochMs | null
}

export const workerBeatMs = 3_000
export const workerLeaseMs = 10_000
/** Registered workers of a tenant, at most. */
export const workersPerTenantMax = 10_000
/** For how long a worker that is gone is shown. */
export const shownMs: Readonly<Record<FormerStatus, number>> = { DEAD: 3_600_000, LEFT: 600_000 }
/** Workers of a tenant that are gone and shown, at most; of ours as many. */
export const formerWorkersMax: Readonly<Record<FormerStatus, number>> = { DEAD: 10_000, LEFT: 1_000 }
/** Per worker. */
export const handlersMax = 200
export const labelsMax = 32
