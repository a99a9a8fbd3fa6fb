// The end of a tenant, in stages. A delete stops its work: operations and executions that wait are cancelled, active jobs
// are paused. Then its rows are kept until the purge is due. A restore resumes the jobs that the delete paused; a purge
// deletes all rows of the tenant but its tombstone.
import type { EpochMs } from '../../lib/time/epoch.ts'
import type { JobState, JobWrite } from '../jobs/job-change.ts'
import { pauseJob, resumeJob } from '../jobs/job-change.ts'

/**
 * stop, restore, purge: an operation shows its progress. keep: between stop and purge; executions that ran at the delete
 * may still fail, and their retries are cancelled.
 */
export const TENANT_STAGES = ['stop', 'keep', 'restore', 'purge'] as const
export type TenantStage = (typeof TENANT_STAGES)[number]

/** Work on the end of a tenant: at most one stage at a time. */
export interface TenantWork {
  tenantId: string
  stage: TenantStage
  /** The latest operation. */
  operationId: string
  requestedBy: string
  deletedAt: EpochMs
  purgeAt: EpochMs | null
  /** Of a stage restore. */
  restoredAt: EpochMs | null
  /** Executions that run are cancelled too. */
  cancelRunning: boolean
  /** How far the stage is; null: at its beginning. */
  after: string | null
}

/** Shown with the jobs that a delete paused, and with their skipped slots. */
export const tenantDeletedReason = 'The tenant was deleted.'

/** Of executions that end with their tenant. */
export const tenantDeletedMessage = 'The tenant was deleted.'

/**
 * Servers remember keys for 5 s, and a request may take some seconds more: a purge that began before could leave rows of a
 * last request behind.
 */
export const purgeWaitMs = 15_000

/** A pause since the moment of the delete, by which a restore knows it again. Null: the job has no slots to stop. */
export function pauseWithTenant(
  state: JobState,
  { deletedAt, requestedBy: by }: Pick<TenantWork, 'deletedAt' | 'requestedBy'>,
): JobWrite | null {
  if (state.status !== 'ACTIVE') return null
  const write = pauseJob(state, { by, reason: tenantDeletedReason, until: null, since: deletedAt })
  return typeof write === 'string' ? null : write
}

/** Slots up to the restore are skipped; later ones run, late ones by the misfire policy. Null: the pause is another one. */
export function resumeWithTenant(
  state: JobState,
  { deletedAt, restoredAt, requestedBy: by }: Pick<TenantWork, 'deletedAt' | 'restoredAt' | 'requestedBy'>,
): JobWrite | null {
  const { status, pause } = state
  if (status !== 'PAUSED' || pause?.since !== deletedAt || pause.reason !== tenantDeletedReason) return null
  const write = resumeJob(state, { by, at: restoredAt })
  return typeof write === 'string' ? null : write
}
