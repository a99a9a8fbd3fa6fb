// Triggering a job: once, or many times by one request.
import Type from 'typebox'
import { anyJson, instant, textOrNull } from './shapes.ts'

const strict = { additionalProperties: false } as const

export const TriggerRequest = Type.Object(
  {
    payload_override: Type.Optional(
      anyJson('Sent instead of the payload of the job; null is a payload too. At most 256 KB.'),
    ),
  },
  { ...strict, examples: [{ payload_override: { report_type: 'daily_sales', date: '2026-01-07' } }, {}] },
)
export type TriggerRequest = Type.Static<typeof TriggerRequest>

export const TriggerReply = Type.Object(
  {
    execution_id: Type.String({ format: 'uuid' }),
    job_id: Type.String({ format: 'uuid' }),
    status: Type.Literal('PENDING'),
    scheduled_time: instant('Now.'),
    graph_run_id: textOrNull(
      'The graph run that it starts, with all that runs after the job; null: it runs alone.',
    ),
  },
  { ...strict, description: 'The execution that was made.' },
)
export type TriggerReply = Type.Static<typeof TriggerReply>

/** Executions that one request triggers, at most. */
export const triggersMax = 1_000

export const TriggerManyRequest = Type.Object(
  {
    payload_overrides: Type.Optional(
      Type.Array(anyJson('Sent to one of them instead of the payload of the job; null is a payload too.'), {
        minItems: 1,
        maxItems: triggersMax,
        description: 'An execution for each, in this order. Either this or `count`.',
      }),
    ),
    count: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: triggersMax,
        description: 'So many executions with the payload of the job. Either this or `payload_overrides`.',
      }),
    ),
  },
  { ...strict, examples: [{ payload_overrides: [{ user: 1 }, { user: 2 }] }, { count: 100 }] },
)
export type TriggerManyRequest = Type.Static<typeof TriggerManyRequest>

export const TriggerManyReply = Type.Object(
  {
    job_id: Type.String({ format: 'uuid' }),
    status: Type.Literal('PENDING'),
    scheduled_time: instant('Now.'),
    execution_ids: Type.Array(Type.String({ format: 'uuid' }), {
      description: 'In the order in which they were asked for.',
    }),
    graph_run_ids: Type.Array(Type.String({ format: 'uuid' }), {
      description: 'The graph runs that they start, one for each; none: they run alone.',
    }),
  },
  { ...strict, description: 'The executions that were made.' },
)
export type TriggerManyReply = Type.Static<typeof TriggerManyReply>
