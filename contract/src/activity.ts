// How many executions ended, and how, in each minute, hour or day: the data for charts and the year of a job.
import Type from 'typebox'
import { describedObject, instant, oneOf, strictObject, time, uuidGiven } from './shapes.ts'

export const ACTIVITY_STEPS = ['minute', 'hour', 'day'] as const
/** Maximum buckets in an answer. */
export const activityBucketsMax = 1_500
/** How far an answer reaches, by step: `to` less `from`, in hours. */
export const activityHoursMax = { minute: 24, hour: 1_440, day: 9_600 } as const

const count = (description: string) => Type.Integer({ description })

export const ActivityQuery = strictObject({
  step: oneOf(
    ACTIVITY_STEPS,
    'How long a bucket is. They begin with the minute, the hour or the day in UTC.',
  ),
  from: Type.Optional(
    time('The first bucket is the one that has this instant in it. Default: an hour, a week or a year back.'),
  ),
  to: Type.Optional(time('The last bucket begins before this instant. Default: now.')),
  job_id: Type.Optional(uuidGiven('Only of this job; then by hour or day.')),
})
export type ActivityQuery = Type.Static<typeof ActivityQuery>

export const ActivityItem = strictObject({
  at: instant('When the bucket begins.'),
  succeeded: count('Executions that ended so and were recorded in this bucket; as the next four.'),
  failed: count('Those lost with their worker for good are among them.'),
  timed_out: count('Of the executions.'),
  cancelled: count('Of the executions.'),
  skipped: count('Executions of graph runs that were not let go. Slots that were skipped: see /late.'),
  retries: count('Attempts that were not the first of their execution.'),
  dead_letters: count('Executions that became a dead letter.'),
  duration_ms_sum: count(
    'How long the last attempts of executions took that succeeded, failed or timed out, in sum.',
  ),
  duration_ms_max: count('And the longest of them.'),
  started: count('First attempts of slots and triggers that were recorded.'),
  within_1s: count('Those of them that began within 1 s of when they were due.'),
  within_5s: count('Within 5 s.'),
  late_ms_max: count('How late the latest of them began.'),
})
export type ActivityItem = Type.Static<typeof ActivityItem>

export const ActivityList = describedObject('The buckets.', {
  as_of: instant(
    'All that was recorded before is counted; seconds ago, when much is recorded up to a minute.',
  ),
  activity: Type.Array(ActivityItem, {
    description: 'Oldest first; buckets in which nothing was recorded are left out.',
  }),
})
export type ActivityList = Type.Static<typeof ActivityList>
