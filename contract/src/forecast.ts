// GET /forecast: how many slots are to come, and when most of them.
import Type from 'typebox'
import { instant } from './shapes.ts'

export const forecastStepSeconds = 600

const strict = { additionalProperties: false } as const

export const ForecastQuery = Type.Object(
  {
    hours: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 168, default: 24, description: 'How far ahead.' }),
    ),
  },
  strict,
)
export type ForecastQuery = Type.Static<typeof ForecastQuery>

export const ForecastReply = Type.Object(
  {
    from: instant('When the first bucket begins: it is the one that it is now in.'),
    step_seconds: Type.Integer({ description: 'How long a bucket is: 600.' }),
    counts: Type.Array(Type.Integer(), {
      description:
        'Slots that are to come in each bucket, of active jobs, without those that exclusions skip.',
    }),
    peaks: Type.Array(
      Type.Object(
        {
          at: instant('When the bucket begins.'),
          count: Type.Integer(),
          jobs: Type.Array(
            Type.Object({ job_id: Type.String({ format: 'uuid' }), name: Type.String() }, strict),
            { description: 'Some of those that have slots in it; those first that have few elsewhere.' },
          ),
        },
        strict,
      ),
      { description: 'The fullest buckets, the fullest first.' },
    ),
    jobs_seen: Type.Integer({ description: 'Active jobs with a slot to come that were looked at.' }),
    complete: Type.Boolean({ description: 'All of them were; otherwise the first 20,000, or fewer.' }),
    as_of: instant('When it was made; it is made anew after a minute.'),
  },
  { ...strict, description: 'What is to come.' },
)
export type ForecastReply = Type.Static<typeof ForecastReply>
