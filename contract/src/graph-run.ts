// Graph runs: jobs that run after each other, from a slot or a trigger of the roots to the last of them.
import Type from 'typebox'
import {
  DEPENDENCY_RULES,
  EXECUTION_STATUSES,
  NODE_ROLES,
  NODE_SKIP_REASONS,
  RUN_KINDS,
  RUN_STATUSES,
} from './constants.ts'
import { Pagination, pageParameters } from './pagination.ts'
import {
  anyJson,
  counts,
  describedObject,
  id,
  instant,
  instantOrNull,
  integerOrNull,
  oneOf,
  oneOfOrNull,
  optionalText,
  strictObject,
  textOrNull,
  uuid,
  uuidGiven,
} from './shapes.ts'

/** Why an execution of a run was skipped. */
/** Why a node has no execution: slot: it is a root and its slot was skipped; absent: it is outside, and never ran. */
const skipReasons = [...NODE_SKIP_REASONS, 'slot', 'absent'] as const
type SkipReason = (typeof skipReasons)[number]

const status = oneOf(RUN_STATUSES)
const executionStatus = oneOf(EXECUTION_STATUSES)
const rule = Type.Enum([...DEPENDENCY_RULES], {
  type: 'string',
  default: 'success',
  description: 'How the other must have ended: SUCCEEDED; FAILED or TIMED_OUT; or any of these (completion).',
})

/** In a request. */
export const DependencyGiven = strictObject({
  job_id: uuidGiven('The job that it runs after.'),
  on: Type.Optional(rule),
})
export const Dependency = strictObject({ job_id: id('The job that it runs after.'), on: rule })

/** A parent of an execution, as the execution sees it. */
export const Parent = strictObject({
  job_id: id('The job that it ran after.'),
  job_key: textOrNull('The present key of that job.'),
  execution_id: textOrNull('Null: nothing of it had ended.'),
  status: executionStatus,
  result: Type.Optional(
    anyJson(
      'What it returned, if that is JSON, else the first 4 KB as text; absent: nothing, or more than 1 MiB in all.',
    ),
  ),
})
export type Parent = Type.Static<typeof Parent>

const node = strictObject({
  job_id: id('The job.'),
  job_name: Type.String({ description: 'Its present name.' }),
  job_version: Type.Integer({ description: 'The version that runs; 0: none has.' }),
  role: oneOf(
    NODE_ROLES,
    'outside: it is not part of the run, but others in it depend on it; it counts by the latest execution of it that had ended when the run started.',
  ),
  status: executionStatus,
  skip_reason: oneOfOrNull(
    skipReasons,
    'Why it was skipped; slot: it is a root, and its slot was; absent: it is outside, and no execution of it had ended.',
  ),
  skip_message: textOrNull('Why its execution was skipped, in a sentence; null: it was not, or has none.'),
  depends_on: Type.Array(Dependency),
  execution_id: textOrNull('Null: it has not fired yet, or was skipped as a slot.'),
  attempt_number: Type.Integer({ description: 'Of the latest attempt; 0 before the first.' }),
  enqueued_at: instantOrNull('When its turn came.'),
  started_at: instantOrNull('Of the latest attempt.'),
  finished_at: instantOrNull('Of the latest attempt.'),
  duration_ms: integerOrNull('Of the latest attempt.'),
  error: Type.Unsafe<{ type: string; message: string } | null>({
    type: ['object', 'null'],
    properties: { type: { type: 'string' }, message: { type: 'string' } },
    required: ['type', 'message'],
    additionalProperties: false,
    description: 'Why the latest attempt that ended failed; null when it did not.',
  }),
  replaced: Type.Array(uuid, {
    description: 'Its executions before the run was resumed, oldest first.',
  }),
})

const summary = {
  graph_run_id: id('Of the run.'),
  status,
  kind: oneOf(RUN_KINDS, 'What started it.'),
  scheduled_time: instant('The slot of its roots, or when one was triggered.'),
  roots: Type.Array(strictObject({ job_id: id('The job.'), job_name: Type.String() }), {
    description: 'Where it starts.',
  }),
  node_count: Type.Integer({ description: 'Jobs in it, those outside not counted.' }),
  nodes_by_status: counts('How many of them have which status; let go and not yet ended is PENDING here.'),
  skipped_by_reason: Type.Unsafe<Partial<Record<SkipReason, number>>>({
    type: 'object',
    additionalProperties: { type: 'integer' },
    description: 'How many of them were skipped for which `skip_reason`.',
  }),
  resumes: Type.Integer({ description: 'How often it was resumed.' }),
  created_at: instant('When it started.'),
  finished_at: instantOrNull('When the last of them ended.'),
}

const runSummary = strictObject(summary)

export const GraphRun = describedObject('The run with all its nodes.', {
  ...summary,
  cancel_message: textOrNull('Why it was cancelled.'),
  nodes: Type.Array(node, { description: 'Roots first, then what they reach, then those outside.' }),
})
export type GraphRun = Type.Static<typeof GraphRun>

export const GraphRunListQuery = strictObject({
  status: Type.Optional(status),
  job_id: Type.Optional(uuidGiven('Only runs in which this job is a node.')),
  start_date: optionalText({
    minLength: 10,
    maxLength: 40,
    description: 'The first UTC day of `scheduled_time` (YYYY-MM-DD), or an RFC 3339 instant.',
  }),
  end_date: optionalText({
    minLength: 10,
    maxLength: 40,
    description: 'The last UTC day of `scheduled_time`, or an RFC 3339 instant; it is included.',
  }),
  ...pageParameters,
})
export type GraphRunListQuery = Type.Static<typeof GraphRunListQuery>

export const GraphRunList = describedObject('A page of the list, newest first by scheduled time.', {
  graph_runs: Type.Array(runSummary),
  pagination: Pagination,
})
export type GraphRunList = Type.Static<typeof GraphRunList>

export const GraphRunCancelReply = describedObject('Nothing of it starts any more.', {
  graph_run_id: id('Of the run.'),
  status: oneOf(
    ['CANCELLED', 'CANCELLING'],
    'CANCELLING: something of it was running, and ends as soon as it has been stopped.',
  ),
})
export type GraphRunCancelReply = Type.Static<typeof GraphRunCancelReply>

export const GraphRunResumeReply = describedObject('It goes on.', {
  graph_run_id: id('Of the run.'),
  status: Type.Literal('RUNNING'),
  execution_ids: Type.Array(uuid, {
    description: 'The new executions, in the order of the nodes.',
  }),
})
export type GraphRunResumeReply = Type.Static<typeof GraphRunResumeReply>

/** The graph of a job as it is now, before any run. */
export const JobGraph = describedObject(
  'All jobs that depend on each other; the job alone if it is in no graph.',
  {
    nodes: Type.Array(
      strictObject({
        job_id: id('The job.'),
        job_name: Type.String(),
        status: Type.String({ description: 'Of the job.' }),
        depends_on: Type.Array(Dependency),
      }),
    ),
  },
)
export type JobGraph = Type.Static<typeof JobGraph>
