// GET /events: events as they happen. One stream for all that a dashboard shows; each event is JSON.
import Type from 'typebox'
import { EXECUTION_STATUSES, JOB_STATUSES, OPERATION_STATUSES, RUN_STATUSES } from './constants.ts'
import { Execution } from './execution.ts'
import {
  counts,
  describedObject,
  id,
  instant,
  instantOrNull,
  integerOrNull,
  oneOf,
  strictObject,
  textOrNull,
  uuidGiven,
} from './shapes.ts'
import { LogList } from './worker.ts'

const count = (description: string) => Type.Integer({ minimum: 0, description })

export const EventsQuery = strictObject({
  watch: Type.Optional(uuidGiven('An execution: its changes and its log are told too.')),
})
export type EventsQuery = Type.Static<typeof EventsQuery>

const hello = strictObject({ as_of: instant('By the clock of the database.'), tenant_id: id('Whose.') })

const pulse = strictObject({
  as_of: instant('When it was looked.'),
  lag_ms: count('How old that was when it was sent.'),
  started: count('Attempts that began since the pulse before.'),
  succeeded: count('Executions that ended so since the pulse before.'),
  failed: count('The same.'),
  timed_out: count('The same.'),
  running: count('At this moment, among the 2,000 latest that have not ended: at least so many.'),
  waiting: count('The same, of those that wait for a worker, a retry, a limit or another job.'),
})

const executionItem = strictObject({
  execution_id: id('Of the execution.'),
  job_id: id('Its job.'),
  job_name: Type.String(),
  status: oneOf(EXECUTION_STATUSES),
  attempt_number: count('Of the attempt; 0 before the first.'),
  scheduled_time: instant('Its slot.'),
  started_at: instantOrNull('Of the attempt.'),
  finished_at: instantOrNull('Of the attempt.'),
  duration_ms: integerOrNull('Of the attempt.'),
  error_type: textOrNull('Why the attempt failed.'),
})

const jobItem = strictObject({
  job_id: id('Of the job.'),
  name: Type.String(),
  status: oneOf(JOB_STATUSES),
  version: Type.Integer(),
})

const operationItem = strictObject({
  operation_id: id('Of the operation.'),
  status: oneOf(OPERATION_STATUSES),
  done: count('So far.'),
  total: count('Of so many.'),
})

const runItem = strictObject({
  graph_run_id: id('Of the graph run.'),
  status: oneOf(RUN_STATUSES),
  states: counts('How many of its jobs have which status, as `nodes_by_status` of the run.'),
})

/** The data of each event, by its name. */
export const EVENTS = {
  hello,
  pulse,
  executions: strictObject({
    items: Type.Array(executionItem, {
      maxItems: 100,
      description: 'Attempts that were recorded and executions that changed, the latest last.',
    }),
    dropped: count('How many more there were.'),
  }),
  jobs: strictObject({ items: Type.Array(jobItem, { description: 'Made or changed.' }) }),
  operations: strictObject({ items: Type.Array(operationItem, { description: 'Changed.' }) }),
  graph_runs: strictObject({ items: Type.Array(runItem, { description: 'Changed.' }) }),
  execution: Execution,
  log: strictObject({ lines: LogList.properties.logs }),
  reset: describedObject('Too much was missed: load again what you show.', {}),
} as const

export type EventName = keyof typeof EVENTS
export type EventData = { [Name in EventName]: Type.Static<(typeof EVENTS)[Name]> }
