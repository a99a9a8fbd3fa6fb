// The tiers of a new installation, as the migrations insert them.
import { historyDaysMax, type Tier } from '../../src/domain/tenants/tenant.ts'

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
