// Jobs: the requests that create and change one, the replies, and lists. Fields of the specification that are not built
// are not here: the server refuses them by name, so that none is ignored.
import Type from 'typebox'
import {
  EXECUTION_STATUSES,
  executionDefaults,
  JOB_STATUSES,
  MISFIRE_POLICIES,
  OVERLAP_POLICIES,
} from './constants.ts'
import { ExecutionRequest, JobExecution } from './executor.ts'
import { Dependency, DependencyGiven } from './graph-run.ts'
import { Pagination, pageNumber, pageParameters } from './pagination.ts'
import { RetryPolicy, RetryPolicyRequest, retryDefaults } from './retry-policy.ts'
import { type ScheduleObject, ScheduleObjectSchema, ScheduleSchema, scheduleText } from './schedule.ts'
import {
  describedObject,
  instant,
  instantOrNull,
  integerOrNull,
  mergePatchOf,
  numberOrNull,
  oneOf,
  oneOfOrNull,
  optionalInteger,
  optionalText,
  orNull,
  strict,
  strictObject,
  textOrNull,
  texts,
  uuid,
} from './shapes.ts'

/** Serialised, in bytes. */
export const payloadBytesMax = 256 * 1024
export const jobKeyPattern = '^[a-z0-9._-]{1,128}$'

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
  pattern: jobKeyPattern,
  description: 'Your own name for the job, unique among your undeleted jobs; see `PUT /jobs/by-key/{key}`.',
})
const tags = Type.Array(Type.String({ minLength: 1, maxLength: 64 }), { maxItems: 50 })
const priority = Type.Integer({
  minimum: 1,
  maximum: 10,
  default: jobDefaults.priority,
  description: '1 is the highest.',
})
const overlapPolicy = Type.Enum([...OVERLAP_POLICIES], {
  type: 'string',
  default: jobDefaults.overlap_policy,
  description:
    'What happens to a slot that comes while an earlier execution is under way: it runs beside it, is skipped, waits (one, or up to 1,000), or takes the place of the one under way, which is cancelled.',
})
const misfirePolicy = Type.Enum([...MISFIRE_POLICIES], {
  type: 'string',
  default: jobDefaults.misfire_policy,
  description:
    'What happens to slots that could not fire within a minute: the latest one runs, all run in order (up to 1,000, 10 a second), or none does.',
})
const jitterSeconds = Type.Integer({
  minimum: 0,
  maximum: 86_400,
  default: jobDefaults.jitter_seconds,
  description:
    'A slot fires up to this much later, always the same for one slot. Below the time between two slots; not with IMMEDIATE.',
})
const limitMax = 10_000
const concurrencyLimit = Type.Integer({
  minimum: 1,
  maximum: limitMax,
  description: 'Executions of the job that may be under way at once; what comes then waits.',
})
const concurrencyKey = describedObject('A limit that several jobs share: over it an execution waits.', {
  key: Type.String({
    minLength: 1,
    maxLength: 128,
    description: 'Any text; shared by the jobs of a tenant.',
  }),
  limit: Type.Integer({
    minimum: 1,
    maximum: limitMax,
    description: 'Executions with this key that may be under way at once.',
  }),
})
const windowText =
  'How old a misfired slot may be and still run. By default an hour for schedules finer than a day, else a day.'
const metadata = texts({
  maxProperties: 20,
  maxLength: 512,
  description: 'Yours; not interpreted. Names of 1 to 64 characters.',
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
          'The jobs that it runs after, each once, in runs that start with the first of them. It has no slots of its own then.',
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
  since: instant('When it was paused.'),
  reason: textOrNull('Why, as given.'),
  by: Type.String({ description: 'Whose key it was.' }),
  until: instantOrNull('When it resumes by itself; null: when somebody says so.'),
})

const nextRunText =
  'When it fires next: the next slot that no exclusion skips, with its jitter. Null when there is none, none is known yet, or it runs after others.'

/** The schedule of a job as it was given; a text appears as the schedule it was converted to. */
export const JobScheduleGiven = strictObject({
  ...ScheduleObjectSchema.properties,
  type: oneOf(['IMMEDIATE', 'ONE_TIME', 'CRON', 'INTERVAL']),
})

const storedSchedule = strictObject({
  ...JobScheduleGiven.properties,
  runs: optionalInteger({ description: 'Slots that ran, of `max_runs`.' }),
  next_run_at: instantOrNull(nextRunText),
  last_run_at: instantOrNull('The latest slot that became an execution.'),
})

export const Job = describedObject('The job.', {
  job_id: uuid,
  name,
  key: textOrNull('Your own name for the job.'),
  description: textOrNull('As given.'),
  status: oneOf(JOB_STATUSES, 'COMPLETED: no slot is left. Its executions may still be under way.'),
  pause: orNull(pause, 'Null unless PAUSED.'),
  schedule: orNull(storedSchedule, 'Null: it has none, and runs after others only.'),
  depends_on: Type.Array(Dependency, {
    description: 'What it runs after; empty: it has slots of its own.',
  }),
  execution: JobExecution,
  retry_policy: RetryPolicy,
  priority: Type.Integer(),
  tags,
  overlap_policy: oneOf(OVERLAP_POLICIES),
  misfire_policy: oneOf(MISFIRE_POLICIES),
  misfire_window_seconds: integerOrNull(windowText),
  jitter_seconds: Type.Integer(),
  concurrency_limit: integerOrNull('Executions of the job that may be under way at once; null: no limit.'),
  concurrency_key: orNull(concurrencyKey),
  metadata,
  version: Type.Integer({ description: 'Grows with each change; also the ETag.' }),
  created_at: instant('When it was created.'),
  created_by: Type.String({ description: 'Whose key it was.' }),
  updated_at: instant('When it was last changed.'),
  updated_by: Type.String({ description: 'Whose key it was.' }),
})
export type Job = Type.Static<typeof Job>

const stats = describedObject('Over the history that is kept.', {
  total_runs: Type.Integer({ description: 'Executions that succeeded, failed or timed out.' }),
  success_rate: numberOrNull('The share of them that succeeded, 0 to 1; null when there are none.'),
  avg_duration_ms: integerOrNull('Of the last attempt of each.'),
  last_status: oneOfOrNull(EXECUTION_STATUSES, 'Of the latest execution that ended.'),
})

export const JobDetails = describedObject('The job, and how it went.', { ...Job.properties, stats })
export type JobDetails = Type.Static<typeof JobDetails>

/** Every part of a job may be left out: fields that are not named stay. The result is checked as a whole job. */
export const JobPatch = Type.Unsafe<Record<string, unknown>>({
  ...mergePatchOf(JobRequest),
  minProperties: 1,
  description:
    'A JSON merge patch: what is named replaces, null takes a value away (its default comes back), what is not named stays. A schedule given as text, or of another type, replaces the old one as a whole; so do an execution of another type and `depends_on`.',
  examples: [{ priority: 3, tags: ['reporting'] }, { schedule: { cron_expression: '0 9 * * 1-5' } }],
})

export const PauseRequest = Type.Object(
  {
    reason: optionalText({ maxLength: 1_024, description: 'For those who wonder later.' }),
    until: optionalText({
      minLength: 20,
      maxLength: 40,
      description: 'RFC 3339: when it resumes by itself.',
    }),
  },
  { ...strict, examples: [{ reason: 'The warehouse moves' }, {}] },
)
export type PauseRequest = Type.Static<typeof PauseRequest>

/** The answer to pause, resume and delete. */
export const JobState = describedObject('Where the job stands now.', {
  job_id: uuid,
  status: oneOf(JOB_STATUSES),
  pause: Job.properties.pause,
  next_run_at: instantOrNull(nextRunText),
  version: Type.Integer(),
  updated_at: instant('When it was last changed.'),
})
export type JobState = Type.Static<typeof JobState>

/** Which jobs; used by lists and by bulk operations. */
export const jobConditions = {
  status: Type.Optional(oneOf(JOB_STATUSES, 'Left out: all but DELETED.')),
  tag: optionalText({ minLength: 1, maxLength: 64, description: 'Jobs that have this tag.' }),
  q: optionalText({ minLength: 1, maxLength: 255, description: 'Part of the name, the key or a tag.' }),
}

export const JobListQuery = strictObject({ ...jobConditions, ...pageParameters, ...pageNumber })
export type JobListQuery = Type.Static<typeof JobListQuery>

export const JobList = describedObject('A page of the list, newest first.', {
  jobs: Type.Array(Job),
  pagination: Pagination,
})
export type JobList = Type.Static<typeof JobList>

const warnings = Type.Array(Type.String(), {
  description: 'What was taken, and may not be what was meant. Absent: nothing.',
})

/** The answer to a change. */
export const ChangedJob = describedObject('The job as it is now.', {
  ...Job.properties,
  warnings: Type.Optional(warnings),
})
export type ChangedJob = Type.Static<typeof ChangedJob>

export const CreatedJob = describedObject('The job as it was taken.', {
  ...ChangedJob.properties,
  execution_id: optionalText({ format: 'uuid', description: 'The one execution of an IMMEDIATE job.' }),
})
export type CreatedJob = Type.Static<typeof CreatedJob>
