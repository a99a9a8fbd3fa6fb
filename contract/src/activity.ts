// How many executions ended, and how, in each minute, hour or day: the data for charts and the year of a job.

import { describedObject, instant, oneOf, strictObject, time, uuidGiven } from './shapes.ts'
import * as Type from './type.ts'

export const ACTIVITY_STEPS = ['minute', 'hour', 'day'] as const
/** How far an answer reaches, by step: `to` less `from`, in hours. */
export const activityHoursMax = { minute: 24, hour: 1_440, day: 9_600 } as const

const count = (description: string) => Type.Integer({ description })

export const ActivityQuery = strictObject({
  step: oneOf(ACTIVITY_STEPS, 'Length of a bucket. Buckets begin with the minute, hour or day in UTC.'),
  from: Type.Optional(
    time('The first bucket contains this instant. Default: an hour, a week or a year ago.'),
  ),
  to: Type.Optional(time('The last bucket begins before this instant. Default: now.')),
  job_id: Type.Optional(uuidGiven('Only executions of this job; requires the step hour or day.')),
})
export type ActivityQuery = Type.Static<typeof ActivityQuery>

export const ActivityItem = strictObject({
  at: instant('Start of the bucket.'),
  succeeded: count('Executions recorded in this bucket with this status.'),
  failed: count(
    'Executions recorded in this bucket with this status, including executions given up after their workers were lost.',
  ),
  timed_out: count('Executions recorded in this bucket with this status.'),
  cancelled: count('Executions recorded in this bucket with this status.'),
  skipped: count('Skipped executions of graph runs. For skipped slots, see /late.'),
  retries: count('Attempts that were not the first of their execution.'),
  dead_letters: count('Executions that became a dead letter.'),
  duration_ms_sum: count(
    'Sum of the durations of the last attempts of executions that succeeded, failed or timed out.',
  ),
  duration_ms_max: count('Longest of these durations.'),
  started: count('Recorded first attempts of slots and triggers.'),
  within_1s: count('First attempts that started within 1 s of their due time.'),
  within_5s: count('First attempts that started within 5 s of their due time.'),
  late_ms_max: count('Largest delay of a first attempt.'),
})
export type ActivityItem = Type.Static<typeof ActivityItem>

export const ActivityList = describedObject('The buckets.', {
  as_of: instant(
    'The counts include everything recorded before this instant: a few seconds ago, or up to a minute ago under load.',
  ),
  activity: Type.Array(ActivityItem, {
    description: 'Oldest first; buckets in which nothing was recorded are left out.',
  }),
})
export type ActivityList = Type.Static<typeof ActivityList>
