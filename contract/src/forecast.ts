// GET /forecast: the number of upcoming slots, and the times of the most.

import { describedObject, instant, optionalInteger, strictObject, uuid } from './shapes.ts'
import * as Type from './type.ts'

export const forecastStepSeconds = 600

export const ForecastQuery = strictObject({
  hours: optionalInteger({ minimum: 1, maximum: 168, default: 24, description: 'Length of the forecast.' }),
})
export type ForecastQuery = Type.Static<typeof ForecastQuery>

export const ForecastReply = describedObject('The forecast.', {
  from: instant('Start of the first bucket, which contains the present.'),
  step_seconds: Type.Integer({ description: 'Length of a bucket: 600.' }),
  counts: Type.Array(Type.Integer(), {
    description: 'Upcoming slots of active jobs in each bucket, without slots that exclusions skip.',
  }),
  peaks: Type.Array(
    strictObject({
      at: instant('Start of the bucket.'),
      count: Type.Integer(),
      jobs: Type.Array(strictObject({ job_id: uuid, name: Type.String() }), {
        description: 'Some of the jobs with slots in the bucket; jobs with few slots elsewhere come first.',
      }),
    }),
    { description: 'The fullest buckets, the fullest first.' },
  ),
  jobs_seen: Type.Integer({ description: 'Number of examined active jobs with an upcoming slot.' }),
  complete: Type.Boolean({
    description: 'Whether all such jobs were examined; otherwise at most the first 20,000 were.',
  }),
  as_of: instant('Time of the forecast; it is computed again after a minute.'),
})
export type ForecastReply = Type.Static<typeof ForecastReply>
