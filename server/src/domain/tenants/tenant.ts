// The owner of jobs, and the limits of its tier. A single-team installation has one tenant and never meets the word.
import type { EpochMs } from '../../lib/time/epoch.ts'

/** The tenant that the operator key acts for. */
export const defaultTenantId = '00000000-0000-7000-8000-000000000001'

/** How long the hot history reaches at most: the longest retention of any tier. */
export const historyDaysMax = 365

export interface Tenant {
  tenantId: string
  name: string
  tier: Tier
  createdAt: EpochMs
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
}

export const unlimitedTier: Tier = Object.freeze({
  tier: 'unlimited',
  weight: 10,
  historyDays: historyDaysMax,
  payloadBytesMax: 262_144,
  retriesMax: 100,
  intervalSecondsMin: 1,
  priorityBest: 1,
  deadLetters: true,
  requestsPerSecond: null,
})

/** The tiers of a new installation, as the migrations insert them. */
export const firstTiers: readonly Tier[] = [
  unlimitedTier,
  {
    tier: 'free',
    weight: 1,
    historyDays: 30,
    payloadBytesMax: 1_024,
    retriesMax: 3,
    intervalSecondsMin: 60,
    priorityBest: 8,
    deadLetters: false,
    requestsPerSecond: 10,
  },
  {
    tier: 'pro',
    weight: 3,
    historyDays: 180,
    payloadBytesMax: 10_240,
    retriesMax: 5,
    intervalSecondsMin: 10,
    priorityBest: 3,
    deadLetters: true,
    requestsPerSecond: 100,
  },
  {
    tier: 'enterprise',
    weight: 10,
    historyDays: 365,
    payloadBytesMax: 102_400,
    retriesMax: 10,
    intervalSecondsMin: 1,
    priorityBest: 1,
    deadLetters: true,
    requestsPerSecond: 1_000,
  },
]
