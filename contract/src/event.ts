// GET /events: events as they happen. One stream for all that a dashboard shows; each event is JSON.
import Type from 'typebox'
import { EXECUTION_STATUSES, JOB_STATUSES, OPERATION_STATUSES, RUN_STATUSES } from './constants.ts'
import { Execution } from './execution.ts'
import { instant, instantOrNull, integerOrNull, textOrNull, uuidGiven } from './shapes.ts'
import { LogList } from './worker.ts'

const strict = { additionalProperties: false } as const
const id = (description: string) => Type.String({ format: 'uuid', description })
const count = (description: string) => Type.Integer({ minimum: 0, description })

export const EventsQuery = Type.Object(
  { watch: Type.Optional(uuidGiven('An execution: its changes and its log are told too.')) },
  strict,
)
export type EventsQuery = Type.Static<typeof EventsQuery>

const hello = Type.Object(
  { as_of: instant('By the clock of the database.'), tenant_id: id('Whose.') },
  strict,
)

const pulse = Type.Object(
  {
    as_of: instant('When it was looked.'),
    lag_ms: count('How old that was when it was sent.'),
    started: count('Attempts that began since the pulse before.'),
    succeeded: count('Executions that ended so since the pulse before.'),
    failed: count('The same.'),
    timed_out: count('The same.'),
    running: count('At this moment, among the 2,000 latest that have not ended: at least so many.'),
    waiting: count('The same, of those that wait for a worker, a retry, a limit or another job.'),
  },
  strict,
)

const executionItem = Type.Object(
  {
    execution_id: id('Of the execution.'),
    job_id: id('Its job.'),
    job_name: Type.String(),
    status: Type.Enum([...EXECUTION_STATUSES], { type: 'string' }),
    attempt_number: count('Of the attempt; 0 before the first.'),
    scheduled_time: instant('Its slot.'),
    started_at: instantOrNull('Of the attempt.'),
    finished_at: instantOrNull('Of the attempt.'),
    duration_ms: integerOrNull('Of the attempt.'),
    error_type: textOrNull('Why the attempt failed.'),
  },
  strict,
)

const jobItem = Type.Object(
  {
    job_id: id('Of the job.'),
    name: Type.String(),
    status: Type.Enum([...JOB_STATUSES], { type: 'string' }),
    version: Type.Integer(),
  },
  strict,
)

const operationItem = Type.Object(
  {
    operation_id: id('Of the operation.'),
    status: Type.Enum([...OPERATION_STATUSES], { type: 'string' }),
    done: count('So far.'),
    total: count('Of so many.'),
  },
  strict,
)

const runItem = Type.Object(
  {
    graph_run_id: id('Of the graph run.'),
    status: Type.Enum([...RUN_STATUSES], { type: 'string' }),
    states: Type.Unsafe<Record<string, number>>({
      type: 'object',
      additionalProperties: { type: 'integer' },
      description: 'How many of its jobs have which status, as `nodes_by_status` of the run.',
    }),
  },
  strict,
)

/** The data of each event, by its name. */
export const EVENTS = {
  hello,
  pulse,
  executions: Type.Object(
    {
      items: Type.Array(executionItem, {
        maxItems: 100,
        description: 'Attempts that were recorded and executions that changed, the latest last.',
      }),
      dropped: count('How many more there were.'),
    },
    strict,
  ),
  jobs: Type.Object({ items: Type.Array(jobItem, { description: 'Made or changed.' }) }, strict),
  operations: Type.Object({ items: Type.Array(operationItem, { description: 'Changed.' }) }, strict),
  graph_runs: Type.Object({ items: Type.Array(runItem, { description: 'Changed.' }) }, strict),
  execution: Execution,
  log: Type.Object({ lines: LogList.properties.logs }, strict),
  reset: Type.Object({}, { ...strict, description: 'Too much was missed: load again what you show.' }),
} as const

export type EventName = keyof typeof EVENTS
export type EventData = { [Name in EventName]: Type.Static<(typeof EVENTS)[Name]> }
