// GET /forecast: how many slots are to come, and when most of them.
import Type from 'typebox'
import { describedObject, instant, optionalInteger, strictObject, uuid } from './shapes.ts'

export const forecastStepSeconds = 600

export const ForecastQuery = strictObject({
  hours: optionalInteger({ minimum: 1, maximum: 168, default: 24, description: 'How far ahead.' }),
})
export type ForecastQuery = Type.Static<typeof ForecastQuery>

export const ForecastReply = describedObject('What is to come.', {
  from: instant('When the first bucket begins: it is the one that it is now in.'),
  step_seconds: Type.Integer({ description: 'How long a bucket is: 600.' }),
  counts: Type.Array(Type.Integer(), {
    description: 'Slots that are to come in each bucket, of active jobs, without those that exclusions skip.',
  }),
  peaks: Type.Array(
    strictObject({
      at: instant('When the bucket begins.'),
      count: Type.Integer(),
      jobs: Type.Array(strictObject({ job_id: uuid, name: Type.String() }), {
        description: 'Some of those that have slots in it; those first that have few elsewhere.',
      }),
    }),
    { description: 'The fullest buckets, the fullest first.' },
  ),
  jobs_seen: Type.Integer({ description: 'Active jobs with a slot to come that were looked at.' }),
  complete: Type.Boolean({ description: 'All of them were; otherwise the first 20,000, or fewer.' }),
  as_of: instant('When it was made; it is made anew after a minute.'),
})
export type ForecastReply = Type.Static<typeof ForecastReply>
