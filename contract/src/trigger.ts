// Triggering a job: once, or many times by one request.

import { anyJson, describedObject, instant, optionalInteger, strict, textOrNull, uuid } from './shapes.ts'
import * as Type from './type.ts'

export const TriggerRequest = Type.Object(
  {
    payload_override: Type.Optional(
      anyJson('Sent instead of the payload of the job; null is a payload too. At most 256 KB.'),
    ),
  },
  { ...strict, examples: [{ payload_override: { report_type: 'daily_sales', date: '2026-01-07' } }, {}] },
)
export type TriggerRequest = Type.Static<typeof TriggerRequest>

export const TriggerReply = describedObject('The new execution.', {
  execution_id: uuid,
  job_id: uuid,
  status: Type.Literal('PENDING'),
  scheduled_time: instant('Now.'),
  graph_run_id: textOrNull(
    'The graph run that it starts, with all dependents of the job; null: the job is in no graph.',
  ),
})
export type TriggerReply = Type.Static<typeof TriggerReply>

/** Executions that one request triggers, at most. */
export const triggersMax = 1_000

export const TriggerManyRequest = Type.Object(
  {
    payload_overrides: Type.Optional(
      Type.Array(
        anyJson('Sent with one execution instead of the payload of the job; null is a payload too.'),
        {
          minItems: 1,
          maxItems: triggersMax,
          description: 'One execution for each payload, in this order. Either this or `count`.',
        },
      ),
    ),
    count: optionalInteger({
      minimum: 1,
      maximum: triggersMax,
      description: 'Number of executions with the payload of the job. Either this or `payload_overrides`.',
    }),
  },
  { ...strict, examples: [{ payload_overrides: [{ user: 1 }, { user: 2 }] }, { count: 100 }] },
)
export type TriggerManyRequest = Type.Static<typeof TriggerManyRequest>

export const TriggerManyReply = describedObject('The new executions.', {
  job_id: uuid,
  status: Type.Literal('PENDING'),
  scheduled_time: instant('Now.'),
  execution_ids: Type.Array(uuid, {
    description: 'In the order of the request.',
  }),
  graph_run_ids: Type.Array(uuid, {
    description: 'The graph runs that they start, one for each; empty: the job is in no graph.',
  }),
})
export type TriggerManyReply = Type.Static<typeof TriggerManyReply>
