// Graph runs: jobs that run after each other, from a slot or a trigger of the roots to the last of them.

import {
  DEPENDENCY_RULES,
  EXECUTION_STATUSES,
  NODE_ROLES,
  NODE_SKIP_REASONS,
  RUN_KINDS,
  RUN_STATUSES,
} from './constants.ts'
import { pageOf, pageParameters } from './pagination.ts'
import {
  anyJson,
  counts,
  dayRange,
  describedObject,
  id,
  instant,
  instantOrNull,
  integerOrNull,
  oneOf,
  oneOfOrNull,
  oneOfWithDefault,
  strictObject,
  textOrNull,
  uuid,
  uuidGiven,
} from './shapes.ts'
import * as Type from './type.ts'

/** Why a node has no execution: slot: it is a root and its slot was skipped; absent: it is outside, and never ran. */
const skipReasons = [...NODE_SKIP_REASONS, 'slot', 'absent'] as const
type SkipReason = (typeof skipReasons)[number]

const status = oneOf(RUN_STATUSES)
const executionStatus = oneOf(EXECUTION_STATUSES)
const rule = oneOfWithDefault(
  DEPENDENCY_RULES,
  'success',
  'The required end of the other job. success: SUCCEEDED. failure: FAILED or TIMED_OUT. completion: any of these.',
)

/** In a request. */
export const DependencyGiven = strictObject({
  job_id: uuidGiven('The job that it runs after.'),
  on: Type.Optional(rule),
})
export const Dependency = strictObject({ job_id: id('The job that it runs after.'), on: rule })

/** A parent of an execution, as the execution sees it. */
export const Parent = strictObject({
  job_id: id('The job that it ran after.'),
  job_key: textOrNull('The current key of that job.'),
  execution_id: textOrNull('Null: no execution of it had ended.'),
  status: executionStatus,
  result: Type.Optional(
    anyJson(
      'Its result if that is JSON, else the first 4 KB of it as text; absent: none, or the results of all parents exceed 1 MiB.',
    ),
  ),
})
export type Parent = Type.Static<typeof Parent>

const node = strictObject({
  job_id: id('The job.'),
  job_name: Type.String({ description: 'The current name of the job.' }),
  job_version: Type.Integer({ description: 'The version that runs; 0: none ran.' }),
  role: oneOf(
    NODE_ROLES,
    'outside: the job is not part of the run, but jobs in the run depend on it; its latest execution that had ended when the run started counts.',
  ),
  status: executionStatus,
  skip_reason: oneOfOrNull(
    skipReasons,
    'Why it was skipped. slot: it is a root, and its slot was skipped. absent: it is outside, and no execution of it had ended.',
  ),
  skip_message: textOrNull(
    'Why its execution was skipped, as a sentence; null: not skipped, or no execution.',
  ),
  depends_on: Type.Array(Dependency),
  execution_id: textOrNull('Null: it has not fired yet, or its slot was skipped.'),
  attempt_number: Type.Integer({ description: 'Number of the latest attempt; 0 before the first.' }),
  enqueued_at: instantOrNull('When it became ready to run.'),
  started_at: instantOrNull('Start of the latest attempt.'),
  finished_at: instantOrNull('End of the latest attempt.'),
  duration_ms: integerOrNull('Duration of the latest attempt.'),
  error: Type.Unsafe<{ type: string; message: string } | null>({
    type: ['object', 'null'],
    properties: { type: { type: 'string' }, message: { type: 'string' } },
    required: ['type', 'message'],
    additionalProperties: false,
    description: 'Error of the latest ended attempt; null if it did not fail.',
  }),
  replaced: Type.Array(uuid, {
    description: 'Its executions before the run was resumed, oldest first.',
  }),
})

const summary = {
  graph_run_id: id('The run.'),
  status,
  kind: oneOf(RUN_KINDS, 'The origin of the run.'),
  scheduled_time: instant('The slot of its roots, or the time of the trigger.'),
  roots: Type.Array(strictObject({ job_id: id('The job.'), job_name: Type.String() }), {
    description: 'The jobs that the run starts with.',
  }),
  node_count: Type.Integer({ description: 'Number of jobs in the run, without outside jobs.' }),
  nodes_by_status: counts(
    'Number of jobs in each status; a job that was released and has not ended is PENDING here.',
  ),
  skipped_by_reason: Type.Unsafe<Partial<Record<SkipReason, number>>>({
    type: 'object',
    additionalProperties: { type: 'integer' },
    description: 'Number of skipped jobs by `skip_reason`.',
  }),
  resumes: Type.Integer({ description: 'Number of resumes.' }),
  created_at: instant('Start of the run.'),
  finished_at: instantOrNull('End of its last job.'),
}

const runSummary = strictObject(summary)

export const GraphRun = describedObject('The run with all its nodes.', {
  ...summary,
  cancel_message: textOrNull('Why it was cancelled.'),
  nodes: Type.Array(node, {
    description: 'Roots first, then the jobs reached from them, then outside jobs.',
  }),
})
export type GraphRun = Type.Static<typeof GraphRun>

export const GraphRunListQuery = strictObject({
  status: Type.Optional(status),
  job_id: Type.Optional(uuidGiven('Only runs in which this job is a node.')),
  ...dayRange('scheduled_time'),
  ...pageParameters,
})
export type GraphRunListQuery = Type.Static<typeof GraphRunListQuery>

export const GraphRunList = pageOf('A page of the list, newest first by scheduled time.', {
  graph_runs: Type.Array(runSummary),
})
export type GraphRunList = Type.Static<typeof GraphRunList>

export const GraphRunCancelReply = describedObject('The cancelled run; it starts no further executions.', {
  graph_run_id: id('The run.'),
  status: oneOf(
    ['CANCELLED', 'CANCELLING'],
    'CANCELLING: executions of the run were running; the run ends as soon as they are stopped.',
  ),
})
export type GraphRunCancelReply = Type.Static<typeof GraphRunCancelReply>

export const GraphRunResumeReply = describedObject('The resumed run.', {
  graph_run_id: id('The run.'),
  status: Type.Literal('RUNNING'),
  execution_ids: Type.Array(uuid, {
    description: 'The new executions, in the order of the nodes.',
  }),
})
export type GraphRunResumeReply = Type.Static<typeof GraphRunResumeReply>

/** The graph of a job as it is now, before any run. */
export const JobGraph = describedObject(
  'All jobs of the graph; only the job itself if it has no dependencies or dependents.',
  {
    nodes: Type.Array(
      strictObject({
        job_id: id('The job.'),
        job_name: Type.String(),
        status: Type.String({ description: 'The status of the job.' }),
        depends_on: Type.Array(Dependency),
      }),
    ),
  },
)
export type JobGraph = Type.Static<typeof JobGraph>
