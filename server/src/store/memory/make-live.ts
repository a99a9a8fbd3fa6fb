// A row of `live` as it begins: ready, unclaimed, no attempt spent.
import type { LiveRow } from './rows.ts'

type Identity = 'executionId' | 'jobId' | 'version' | 'tenantId' | 'kind' | 'slot'
type Place = 'route' | 'lane' | 'priority' | 'enqueuedAt' | 'rank'

export function makeLive(given: Pick<LiveRow, Identity | Place> & Partial<LiveRow>): LiveRow {
  return {
    state: 'ready',
    readyAt: null,
    workerId: null,
    fence: 0,
    attempt: 0,
    losses: 0,
    host: null,
    startedAt: null,
    idempotencyKey: null,
    retryOf: null,
    ...given,
  }
}
