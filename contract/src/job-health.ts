// How a job goes, by its latest execution that ended, and the lists of jobs that go by it.

import { ERROR_TYPES, JOB_HEALTHS } from './constants.ts'
import {
  describedObject,
  instant,
  instantOrNull,
  integerOrNull,
  oneOf,
  oneOfOrNull,
  orNull,
  strictObject,
  uuid,
} from './shapes.ts'
import * as Type from './type.ts'

const lastExecution = describedObject('An execution that ended.', {
  execution_id: uuid,
  status: oneOf(['SUCCEEDED', 'FAILED', 'TIMED_OUT']),
  finished_at: instant('Time of its end.'),
  http_status: integerOrNull('HTTP status of the last response; null: no response.'),
  error: orNull(
    strictObject({
      type: oneOfOrNull(ERROR_TYPES),
      message: Type.String({ description: 'The first 300 characters of the error message.' }),
    }),
    'Null: it succeeded.',
  ),
})

/** How a job goes: in lists of jobs, and with a single job. */
export const jobHealthFields = {
  health: oneOfOrNull(
    JOB_HEALTHS,
    'FAILING: `last_execution` failed or timed out. FLAKY: it succeeded, but in the last 24 hours an execution took more than one attempt. Null: nothing has ended yet, or the job is deleted, or it is completed and does not run once.',
  ),
  last_execution: orNull(
    lastExecution,
    'The latest execution that succeeded, failed or timed out; cancelled and skipped ones do not count. It may be older than the history that is kept. Null: there is none.',
  ),
  consecutive_failures: Type.Integer({
    description: 'Executions that failed or timed out in a row, up to `last_execution`.',
  }),
  failing_since: instantOrNull('The end of the first of `consecutive_failures`; null: there are none.'),
  recovered_at: instantOrNull(
    'The last time an execution succeeded that took more than one attempt; null: none did.',
  ),
}

/** Of a list of jobs. */
export const jobOrders = {
  health: Type.Optional(
    oneOf(
      ['FAILING', 'FLAKY'],
      'Only jobs that go like this, the latest trouble first. Not together with `page`.',
    ),
  ),
  sort: Type.Optional(
    oneOf(
      ['newest', 'failing_first'],
      'Default `newest`. `failing_first`: FAILING jobs, the latest to break first, then the others, newest first. Not together with `page`. A job that breaks or recovers between two pages may be missing, or be there twice.',
    ),
  ),
}
