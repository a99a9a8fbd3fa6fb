// The job that the tests of answers ask about: hourly, on 2 January 2026.
import type { JobView } from '../src/domain/jobs/job.ts'
import { type EpochMs, epochMs } from '../src/lib/time/epoch.ts'

export const at = (time: string): EpochMs => epochMs(Date.parse(`2026-01-02T${time}Z`))

export const job: JobView = {
  jobId: 'j',
  version: 3,
  tenantId: 't',
  key: null,
  name: 'report',
  description: null,
  tags: [],
  schedule: { type: 'CRON', cron_expression: '0 * * * *' },
  impliedDst: [],
  anchorAt: at('00:00:00'),
  execution: {
    type: 'http',
    callback_url: 'https://example.com/',
    method: 'POST',
    headers: {},
    timeout_seconds: 30,
  },
  retryPolicy: { max_retries: 3, backoff: 'FIXED', initial_delay_ms: 1_000, max_delay_ms: 60_000 },
  priority: 5,
  overlapPolicy: 'SKIP',
  misfirePolicy: 'FIRE_ONCE',
  misfireWindowSeconds: null,
  jitterSeconds: 0,
  concurrencyLimit: null,
  concurrencyKey: null,
  dependsOn: [],
  metadata: {},
  status: 'ACTIVE',
  pause: null,
  slotAt: at('04:00:00'),
  runs: 0,
  lastRunAt: null,
  isUnderWay: false,
  createdAt: at('00:00:00'),
  createdBy: 'ada',
  updatedAt: at('01:00:00'),
  updatedBy: 'grace',
}
export const pause = {
  since: at('01:30:00'),
  by: 'ada',
  reason: 'The warehouse\nmoves',
  until: at('09:00:00'),
}
export const pauseSaid =
  'paused since 2026-01-02T01:30:00Z by ada ("The warehouse moves"), until 2026-01-02T09:00:00Z'
