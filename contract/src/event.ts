// GET /events: events as they happen. One stream for all that a dashboard shows; each event is JSON.

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
import * as Type from './type.ts'
import { LogList } from './worker.ts'

const count = (description: string) => Type.Integer({ minimum: 0, description })

export const EventsQuery = strictObject({
  watch: Type.Optional(uuidGiven('Also send the changes and the log of this execution.')),
})
export type EventsQuery = Type.Static<typeof EventsQuery>

const hello = strictObject({
  as_of: instant('By the clock of the database.'),
  tenant_id: id('The tenant whose events follow.'),
})

const pulse = strictObject({
  as_of: instant('When the counts were read.'),
  lag_ms: count('Age of the counts when the event was sent.'),
  started: count('Attempts that started since the previous pulse.'),
  succeeded: count('Executions that ended with this status since the previous pulse.'),
  failed: count('Executions that ended with this status since the previous pulse.'),
  timed_out: count('Executions that ended with this status since the previous pulse.'),
  running: count('Running executions among the 2,000 latest that have not ended: a lower bound.'),
  waiting: count(
    'Executions that wait for a worker, a retry, a limit or another job, among the same 2,000: a lower bound.',
  ),
})

const executionItem = strictObject({
  execution_id: id('The execution.'),
  job_id: id('Its job.'),
  job_name: Type.String(),
  status: oneOf(EXECUTION_STATUSES),
  attempt_number: count('Number of the attempt; 0 before the first.'),
  scheduled_time: instant('Its slot.'),
  started_at: instantOrNull('Start of the attempt.'),
  finished_at: instantOrNull('End of the attempt.'),
  duration_ms: integerOrNull('Duration of the attempt.'),
  error_type: textOrNull('Type of the error of the attempt.'),
})

const jobItem = strictObject({
  job_id: id('The job.'),
  name: Type.String(),
  status: oneOf(JOB_STATUSES),
  version: Type.Integer(),
})

const operationItem = strictObject({
  operation_id: id('The operation.'),
  status: oneOf(OPERATION_STATUSES),
  done: count('Items done so far.'),
  total: count('All items of the operation.'),
})

const runItem = strictObject({
  graph_run_id: id('The graph run.'),
  status: oneOf(RUN_STATUSES),
  states: counts('Number of jobs in each status, as in `nodes_by_status` of the run.'),
})

/** The data of each event, by its name. */
export const EVENTS = {
  hello,
  pulse,
  executions: strictObject({
    items: Type.Array(executionItem, {
      maxItems: 100,
      description: 'Recorded attempts and changed executions, the latest last.',
    }),
    dropped: count('Number of items left out.'),
  }),
  jobs: strictObject({
    items: Type.Array(jobItem, { description: 'New or changed, or run for the only time.' }),
  }),
  operations: strictObject({ items: Type.Array(operationItem, { description: 'Changed.' }) }),
  graph_runs: strictObject({ items: Type.Array(runItem, { description: 'Changed.' }) }),
  execution: Execution,
  log: strictObject({ lines: LogList.properties.logs }),
  reset: describedObject('Too many events were missed: load all shown data again.', {}),
} as const

export type EventName = keyof typeof EVENTS
export type EventData = { [Name in EventName]: Type.Static<(typeof EVENTS)[Name]> }
