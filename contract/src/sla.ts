// GET /sla: is everything on time?

import {
  describedObject,
  instant,
  instantOrNull,
  integerOrNull,
  numberOrNull,
  oneOf,
  oneOfWithDefault,
  strictObject,
} from './shapes.ts'
import * as Type from './type.ts'
import { workerCounts } from './worker.ts'

export const SLA_WINDOWS = ['1h', '24h', '7d', '30d'] as const

export const SlaQuery = strictObject({
  window: Type.Optional(oneOfWithDefault(SLA_WINDOWS, '24h', 'Length of the window up to now.')),
})
export type SlaQuery = Type.Static<typeof SlaQuery>

export const Sla = describedObject('The state of the service.', {
  window: oneOf(SLA_WINDOWS),
  as_of: instant('The figures include everything recorded before this instant.'),
  starts: strictObject({
    count: Type.Integer({ description: 'First attempts of slots and triggers.' }),
    within_1s: numberOrNull(
      'The share of first attempts that started within 1 s of their due time (of a ONE_TIME job for the past: of its creation), 0 to 1; null: there were none.',
    ),
    within_5s: numberOrNull('The share that started within 5 s of their due time.'),
    late_ms_max: Type.Integer({ description: 'Largest delay of a first attempt.' }),
  }),
  throughput: strictObject({
    now_per_second: Type.Number({
      description: 'Executions that ended a second, over the last minute or two.',
    }),
    peak_per_second: Type.Number({
      description: 'Executions that ended a second, in the busiest minute of the window.',
    }),
    peak_at: instantOrNull('Start of that minute; null: no execution ended.'),
  }),
  queue: strictObject({
    depth: Type.Integer({ description: 'Executions that wait for a worker now.' }),
    depth_capped: Type.Boolean({ description: 'Not the whole queue was examined, so there may be more.' }),
    oldest_seconds: numberOrNull('Waiting time of the oldest; null: none waits.'),
  }),
  rates: strictObject({
    success: numberOrNull(
      'Share of successes among executions that succeeded, failed or timed out; null: there were none.',
    ),
    retry: numberOrNull('Share of retries among all attempts.'),
    dead_letter: numberOrNull('Share of dead letters among the same executions as in `success`.'),
    timeout: numberOrNull('Share of time-outs among the same executions as in `success`.'),
  }),
  workers: strictObject({
    count: Type.Integer({
      description: 'Live workers, active and draining: all for operators, otherwise your own.',
    }),
    ...workerCounts,
    capacity: Type.Integer({ description: 'Maximum number of executions that they run at once.' }),
    running: Type.Integer({ description: 'Executions that they run now.' }),
    utilisation: numberOrNull('running / capacity; null: there are none.'),
  }),
  history: Type.Array(
    strictObject({
      tier: oneOf(['hot'], 'The storage tier. hot: in PostgreSQL.'),
      bytes: integerOrNull(
        'Size on disk, with indexes. For operators the size of all tenants, otherwise your share by number of attempts; null: not known yet.',
      ),
      attempts_estimate: Type.Integer(),
      attempts_per_day: Type.Integer({ description: 'Attempts written in the last 24 hours, estimated.' }),
      bytes_per_day: integerOrNull('Their size on disk, with indexes; null: not known yet.'),
      oldest_at: instantOrNull('The day of the oldest attempt.'),
    }),
    { description: 'The record of attempts, by storage tier.' },
  ),
})
export type Sla = Type.Static<typeof Sla>
