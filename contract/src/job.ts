// Jobs: the requests that create and change one, the replies, and lists. Fields of the specification that are not built
// are not here: the server refuses them by name, so that none is ignored.

import {
  EXECUTION_STATUSES,
  executionDefaults,
  JOB_STATUSES,
  MISFIRE_POLICIES,
  OVERLAP_POLICIES,
} from './constants.ts'
import { ExecutionRequest, JobExecution } from './executor.ts'
import { nameForm } from './expected.ts'
import { Dependency, DependencyGiven } from './graph-run.ts'
import { jobHealthFields, jobOrders } from './job-health.ts'
import { includeParameter, pageNumber, pageOf, pageParameters } from './pagination.ts'
import { RetryPolicy, RetryPolicyRequest, retryDefaults } from './retry-policy.ts'
import { type ScheduleObject, ScheduleObjectSchema, ScheduleSchema, scheduleText } from './schedule.ts'
import {
  describedObject,
  instant,
  instantGiven,
  instantOrNull,
  integerOrNull,
  mergePatchOf,
  numberOrNull,
  oneOf,
  oneOfOrNull,
  oneOfWithDefault,
  optionalInteger,
  optionalText,
  orNull,
  requestObject,
  strict,
  strictObject,
  textOrNull,
  texts,
  uuid,
} from './shapes.ts'
import * as Type from './type.ts'

/** Serialised, in bytes. */
export const payloadBytesMax = 256 * 1024
export const jobKeyForm = nameForm('a key', 'nightly-report')

/** Defaults of omitted fields. */
export const jobDefaults = {
  ...executionDefaults,
  ...retryDefaults,
  priority: 5,
  overlap_policy: 'SKIP',
  misfire_policy: 'FIRE_ONCE',
  jitter_seconds: 0,
} as const

const name = Type.String({ minLength: 1, maxLength: 255 })
const key = Type.String({
  ...jobKeyForm,
  description:
    'Your own identifier of the job, unique among your jobs that are not deleted; see `PUT /jobs/by-key/{key}`.',
})
const tags = Type.Array(Type.String({ minLength: 1, maxLength: 64 }), { maxItems: 50 })
const priority = Type.Integer({
  minimum: 1,
  maximum: 10,
  default: jobDefaults.priority,
  description: '1 is the highest.',
})
const overlapPolicy = oneOfWithDefault(
  OVERLAP_POLICIES,
  jobDefaults.overlap_policy,
  'The rule for a slot that comes due while an earlier execution has not ended. ALLOW: both run. SKIP: the slot is skipped. BUFFER_ONE and BUFFER_ALL: one slot, or up to 1,000, wait. CANCEL_RUNNING: the earlier execution is cancelled, and the slot runs.',
)
const misfirePolicy = oneOfWithDefault(
  MISFIRE_POLICIES,
  jobDefaults.misfire_policy,
  'The rule for slots that could not fire within a minute. FIRE_ONCE: the latest one runs. FIRE_ALL: all run in order (up to 1,000, 10 a second), and slots that come meanwhile wait for their turn. SKIP: none runs.',
)
const jitterSeconds = Type.Integer({
  minimum: 0,
  maximum: 86_400,
  default: jobDefaults.jitter_seconds,
  description:
    'Each slot fires up to this much later; the delay of a slot never changes. Must be shorter than the time between two slots; not with IMMEDIATE.',
})
const limitMax = 10_000
const concurrencyLimit = Type.Integer({
  minimum: 1,
  maximum: limitMax,
  description: 'Maximum number of executions of the job at once; further executions wait.',
})
const concurrencyKey = describedObject('A limit shared by several jobs: executions above it wait.', {
  key: Type.String({
    minLength: 1,
    maxLength: 128,
    description: 'Any text; shared by the jobs of a tenant.',
  }),
  limit: Type.Integer({
    minimum: 1,
    maximum: limitMax,
    description: 'Maximum number of executions with this key at once.',
  }),
})
const windowText =
  'Maximum age of a misfired slot that still runs. Default: an hour for schedules finer than a day, else a day.'
const metadata = texts({
  maxProperties: 20,
  maxLength: 512,
  description: 'Your own data, not interpreted. Names of 1 to 64 characters.',
})

/** A graph has at most 1,000 jobs. */
const dependenciesMax = 999
const schedule = Type.Unsafe<string | ScheduleObject>({
  ...ScheduleSchema,
  description: `${scheduleText} Needed unless \`depends_on\` names jobs; with both it is kept and does not fire.`,
})

export const JobRequest = Type.Object(
  {
    name,
    key: Type.Optional(key),
    description: optionalText({ maxLength: 4_096 }),
    schedule: Type.Optional(schedule),
    depends_on: Type.Optional(
      Type.Array(DependencyGiven, {
        maxItems: dependenciesMax,
        description:
          'The jobs that it runs after, each listed once. A job with dependencies has no slots of its own: it runs in graph runs, which start with their roots.',
      }),
    ),
    execution: ExecutionRequest,
    retry_policy: Type.Optional(RetryPolicyRequest),
    priority: Type.Optional(priority),
    tags: Type.Optional(tags),
    overlap_policy: Type.Optional(overlapPolicy),
    misfire_policy: Type.Optional(misfirePolicy),
    misfire_window_seconds: optionalInteger({ minimum: 1, maximum: 31_536_000, description: windowText }),
    jitter_seconds: Type.Optional(jitterSeconds),
    concurrency_limit: Type.Optional(concurrencyLimit),
    concurrency_key: Type.Optional(concurrencyKey),
    metadata: Type.Optional(metadata),
  },
  {
    ...strict,
    examples: [
      {
        name: 'Daily Sales Report',
        description: 'Generate and email daily sales report',
        schedule: { type: 'CRON', cron_expression: '0 10 * * *', timezone: 'America/New_York' },
        execution: {
          callback_url: 'http://127.0.0.1:7420/echo',
          method: 'POST',
          headers: { 'X-API-Key': 'secret123' },
          payload: { report_type: 'daily_sales', format: 'pdf' },
          timeout_seconds: 600,
        },
        retry_policy: { max_retries: 3, backoff: 'EXPONENTIAL', initial_delay_ms: 1000, max_delay_ms: 60000 },
        priority: 3,
        tags: ['reporting', 'finance'],
      },
      {
        name: 'Say hello now',
        schedule: { type: 'IMMEDIATE' },
        execution: { callback_url: 'http://127.0.0.1:7420/echo', payload: 'hello' },
      },
      {
        name: 'Rebuild the index',
        schedule: '0 2 * * *',
        execution: {
          type: 'worker',
          handler: 'rebuild-index',
          labels: ['large'],
          timeout_seconds: 7200,
          heartbeat_timeout_seconds: 60,
        },
      },
      {
        name: 'Load the extract',
        depends_on: [{ job_id: '0198c5a2-7d31-7c44-9a55-3f0e6b1d2c00', on: 'success' }],
        execution: { callback_url: 'http://127.0.0.1:7420/echo' },
      },
    ],
  },
)
export type JobRequest = Type.Static<typeof JobRequest>

const pause = strictObject({
  since: instant('Time of the pause.'),
  reason: textOrNull('The given reason.'),
  by: Type.String({ description: 'The name of the API key that paused it.' }),
  until: instantOrNull('Time of the automatic resume; null: until it is resumed manually.'),
})

const nextRunText =
  'Time of the next fire: the next slot that no exclusion skips, plus its jitter. Null if there is none, if it is not known yet, or if the job has dependencies.'

/** The schedule of a job as it was given; a text appears as the schedule it was converted to. */
export const JobScheduleGiven = strictObject({
  ...ScheduleObjectSchema.properties,
  type: oneOf(['IMMEDIATE', 'ONE_TIME', 'CRON', 'INTERVAL']),
})

const storedSchedule = strictObject({
  ...JobScheduleGiven.properties,
  runs: optionalInteger({ description: 'Slots that count against `max_runs`.' }),
  next_run_at: instantOrNull(nextRunText),
  last_run_at: instantOrNull('The latest slot that became an execution.'),
})

export const Job = describedObject('The job.', {
  job_id: uuid,
  name,
  key: textOrNull('Your own identifier of the job.'),
  description: textOrNull('As given.'),
  status: oneOf(
    JOB_STATUSES,
    'COMPLETED: no slot is left. Its last executions may still run; a job that runs once is shown as ACTIVE until its execution has ended.',
  ),
  pause: orNull(pause, 'Null unless PAUSED.'),
  schedule: orNull(storedSchedule, 'Null: it has no schedule, and runs only after the jobs in `depends_on`.'),
  depends_on: Type.Array(Dependency, {
    description: 'The jobs that it runs after; empty: it has slots of its own.',
  }),
  execution: JobExecution,
  retry_policy: RetryPolicy,
  priority: Type.Integer(),
  tags,
  overlap_policy: oneOf(OVERLAP_POLICIES),
  misfire_policy: oneOf(MISFIRE_POLICIES),
  misfire_window_seconds: integerOrNull(windowText),
  jitter_seconds: Type.Integer(),
  concurrency_limit: integerOrNull('Maximum number of executions of the job at once; null: no limit.'),
  concurrency_key: orNull(concurrencyKey),
  metadata,
  version: Type.Integer({ description: 'Increases with each change; also the ETag.' }),
  created_at: instant('Time of creation.'),
  created_by: Type.String({ description: 'The name of the API key that created it.' }),
  updated_at: instant('Time of the last change.'),
  updated_by: Type.String({ description: 'The name of the API key that changed it last.' }),
  partition_id: Type.Integer({
    description: 'The partition of the job, 0 to 63; `GET /partitions` names the scheduler that holds it.',
  }),
})
export type Job = Type.Static<typeof Job>

const stats = describedObject('Computed over the retained history.', {
  total_runs: Type.Integer({ description: 'Executions that succeeded, failed or timed out.' }),
  success_rate: numberOrNull('The share of `total_runs` that succeeded, 0 to 1; null: there are none.'),
  avg_duration_ms: integerOrNull('Mean duration of the last attempts.'),
  last_status: oneOfOrNull(EXECUTION_STATUSES, 'Status of the latest ended execution.'),
})

export const JobDetails = describedObject('The job and its statistics.', {
  ...Job.properties,
  ...jobHealthFields,
  stats,
})
export type JobDetails = Type.Static<typeof JobDetails>

/** Every part of a job may be left out: fields that are not named stay. The result is checked as a whole job. */
export const JobPatch = Type.Unsafe<Record<string, unknown>>({
  ...mergePatchOf(JobRequest),
  minProperties: 1,
  description:
    'A JSON merge patch: given fields replace the old values, null removes a value (its default applies), and fields that are left out stay unchanged. A schedule given as text, or of another type, replaces the old one as a whole; so do an execution of another type and `depends_on`.',
  examples: [{ priority: 3, tags: ['reporting'] }, { schedule: { cron_expression: '0 9 * * 1-5' } }],
})

export const PauseRequest = requestObject([{ reason: 'The warehouse moves' }, {}], {
  reason: optionalText({ maxLength: 1_024, description: 'The reason of the pause, shown with the job.' }),
  until: Type.Optional(instantGiven('Time of the automatic resume, RFC 3339.')),
})
export type PauseRequest = Type.Static<typeof PauseRequest>

/** The answer to pause, resume and delete. */
export const JobState = describedObject('The job after the request.', {
  job_id: uuid,
  status: oneOf(JOB_STATUSES),
  pause: Job.properties.pause,
  next_run_at: instantOrNull(nextRunText),
  version: Type.Integer(),
  updated_at: instant('Time of the last change.'),
})
export type JobState = Type.Static<typeof JobState>

/** Which jobs; used by lists and by bulk operations. */
export const jobConditions = {
  status: Type.Optional(
    oneOf(
      JOB_STATUSES,
      'Left out: all except DELETED. A job that runs once counts as COMPLETED here as soon as its execution begins.',
    ),
  ),
  tag: optionalText({ minLength: 1, maxLength: 64, description: 'Only jobs with this tag.' }),
  q: optionalText({ minLength: 1, maxLength: 255, description: 'Part of the name, the key or a tag.' }),
}

export const JobListQuery = strictObject({
  ...jobConditions,
  ...jobOrders,
  ...includeParameter,
  ...pageParameters,
  ...pageNumber,
})
export type JobListQuery = Type.Static<typeof JobListQuery>

/** A job of a list. */
export const ListedJob = describedObject('The job, and how it goes.', {
  ...Job.properties,
  ...jobHealthFields,
})
export type ListedJob = Type.Static<typeof ListedJob>

export const JobList = pageOf('A page of the list, newest first unless `sort` or `health` is given.', {
  jobs: Type.Array(ListedJob),
  health_as_of: instant('All executions that ended before this time are counted in the health of the jobs.'),
})
export type JobList = Type.Static<typeof JobList>

const warnings = Type.Array(Type.String(), {
  description: 'Accepted values that are probably mistakes. Absent: none.',
})

/** The answer to a change. */
export const ChangedJob = describedObject('The job as it is now.', {
  ...Job.properties,
  warnings: Type.Optional(warnings),
})
export type ChangedJob = Type.Static<typeof ChangedJob>

export const CreatedJob = describedObject('The accepted job.', {
  ...ChangedJob.properties,
  execution_id: optionalText({ format: 'uuid', description: 'The one execution of an IMMEDIATE job.' }),
})
export type CreatedJob = Type.Static<typeof CreatedJob>
