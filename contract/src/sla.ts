// GET /sla: is everything on time?
import Type from 'typebox'
import {
  describedObject,
  instant,
  instantOrNull,
  integerOrNull,
  numberOrNull,
  oneOf,
  strictObject,
} from './shapes.ts'

export const SLA_WINDOWS = ['1h', '24h', '7d', '30d'] as const

export const SlaQuery = strictObject({
  window: Type.Optional(
    Type.Enum([...SLA_WINDOWS], { type: 'string', default: '24h', description: 'How far back.' }),
  ),
})
export type SlaQuery = Type.Static<typeof SlaQuery>

export const Sla = describedObject('The state of the service.', {
  window: oneOf(SLA_WINDOWS),
  as_of: instant('All that was recorded before is counted.'),
  starts: strictObject({
    count: Type.Integer({ description: 'First attempts of slots and triggers.' }),
    within_1s: numberOrNull(
      'The share of them that began within 1 s of when they were due, 0 to 1; null: there were none.',
    ),
    within_5s: numberOrNull('Within 5 s.'),
    late_ms_max: Type.Integer({ description: 'How late the latest of them began.' }),
  }),
  throughput: strictObject({
    now_per_second: Type.Number({
      description: 'Executions that ended in the latest minute or two, a second.',
    }),
    peak_per_second: Type.Number({ description: 'In the busiest minute of the window, a second.' }),
    peak_at: instantOrNull('When that minute began; null: nothing ended.'),
  }),
  queue: strictObject({
    depth: Type.Integer({ description: 'Executions that wait for a worker now.' }),
    depth_capped: Type.Boolean({ description: 'Not all of the queue was looked at: there may be more.' }),
    oldest_seconds: numberOrNull('For how long the oldest of them has waited; null: there are none.'),
  }),
  rates: strictObject({
    success: numberOrNull('Of the executions that succeeded, failed or timed out; null: there were none.'),
    retry: numberOrNull('Attempts that were not the first of their execution, of all attempts.'),
    dead_letter: numberOrNull('Of the same executions as `success`.'),
    timeout: numberOrNull('Of the same executions as `success`.'),
  }),
  workers: strictObject({
    count: Type.Integer({ description: 'Workers that live: for operators all, otherwise your own.' }),
    capacity: Type.Integer({ description: 'Executions they run at once, at most.' }),
    running: Type.Integer({ description: 'Executions they run now.' }),
    utilisation: numberOrNull('running / capacity; null: there are none.'),
  }),
  history: Type.Array(
    strictObject({
      tier: oneOf(['hot'], 'Where it is kept. hot: in PostgreSQL.'),
      bytes: integerOrNull(
        'On disk with its indexes. For operators of all tenants; otherwise your share by the number of attempts; null: not known yet.',
      ),
      attempts_estimate: Type.Integer(),
      oldest_at: instantOrNull('The day of the oldest.'),
    }),
    { description: 'The record of attempts, by where it is kept.' },
  ),
})
export type Sla = Type.Static<typeof Sla>
