// The owner of jobs, and the limits of its tier. A single-team installation has one tenant and never meets the word.
import { DEFAULT_TENANT_ID, type TenantStatus } from '@carillon/contract/constants.ts'
import type { EpochMs } from '../../lib/time/epoch.ts'

/** The tenant that the operator key acts for. */
export const defaultTenantId = DEFAULT_TENANT_ID

/** How long the hot history reaches at most: the longest retention of any tier. */
export const historyDaysMax = 365

/** Tiers of an installation. */
export const tiersMax = 100

export interface Tenant {
  tenantId: string
  name: string
  tier: Tier
  createdAt: EpochMs
  /** Null: it is not deleted. */
  deletedAt: EpochMs | null
  /** When the purge of its rows begins, or began, by itself or by request. Null: it is not deleted. */
  purgeAt: EpochMs | null
  /** From then on it cannot be restored. */
  purgeBegunAt: EpochMs | null
  /** Only its id, its name and these times are left. */
  purgedAt: EpochMs | null
}

export function tenantStatusOf({
  deletedAt,
  purgeBegunAt,
  purgedAt,
}: Pick<Tenant, 'deletedAt' | 'purgeBegunAt' | 'purgedAt'>): TenantStatus {
  if (purgedAt !== null) return 'PURGED'
  if (purgeBegunAt !== null) return 'PURGING'
  return deletedAt === null ? 'ACTIVE' : 'DELETED'
}

/** The plan of a tenant. Tiers are rows that an operator may change; code never compares their names. */
export interface Tier {
  tier: string
  /** Its share of the workers, against other tenants that have work. */
  weight: number
  historyDays: number
  payloadBytesMax: number
  retriesMax: number
  intervalSecondsMin: number
  /** The smallest number that a job may have; 1 is the most urgent. */
  priorityBest: number
  /** Whether the tenant may see its dead letters; they are kept either way. */
  deadLetters: boolean
  /** Of the API. Null: as many as it likes. */
  requestsPerSecond: number | null
  /** Calls to one host, all its ports together. Null: as many as it likes. */
  hostCallsPerSecond: number | null
  /** Jobs that are active, or paused with an end. Null: as many as it likes. */
  activeJobsMax: number | null
  /** Of an attempt. Null: as long as any job may have. */
  timeoutSecondsMax: number | null
  /** Started on average; two minutes' worth may come at once. Null: as many as it likes. */
  executionsPerMinute: number | null
  /** Running at once. Null: as many as the workers have places for. */
  concurrentExecutionsMax: number | null
  /** Executions that wait to be started. Null: as many as it likes. */
  waitingExecutionsMax: number | null
  /** Bundles, versions of jobs, payloads of waiting executions and logs together. Null: as much as it likes. */
  storageBytesMax: number | null
}
