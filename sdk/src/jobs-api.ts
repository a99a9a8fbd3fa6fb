// client.jobs: definitions, and running them.
import type { ExecutionItem, ExecutionList, ExecutionListQuery, SkippedSlot } from '#contract/execution.ts'
import type { JobGraph } from '#contract/graph-run.ts'
import type {
  CreatedJob,
  Job,
  JobDetails,
  JobList,
  JobListQuery,
  JobRequest,
  JobState,
  ListedJob,
  PauseRequest,
} from '#contract/job.ts'
import type { BackfillRequest, BulkRequest, Operation } from '#contract/operation.ts'
import type { SlotItem, SlotList, SlotListQuery, WhyQuery, WhyReply } from '#contract/slot.ts'
import type { TriggerManyReply, TriggerManyRequest, TriggerReply, TriggerRequest } from '#contract/trigger.ts'
import type { Call, CallOptions, PostOptions, WriteOptions } from './call.ts'
import type { JobReservation } from './define-job.ts'
import type { List } from './list.ts'
import { resource } from './resource.ts'
import { JobStarter } from './start-job.ts'

/** The version of the job that the client knows: its `version`, or `*` to override any changes by others. */
export type IfMatch = number | '*'

export interface ChangeOptions extends WriteOptions {
  /** Refused with VERSION_STALE when the job has another version by now. */
  ifMatch?: IfMatch
}

export interface JobsApi {
  create(job: JobRequest, options?: PostOptions): Promise<CreatedJob>
  get(jobId: string, options?: CallOptions): Promise<JobDetails>
  /** Newest first; without payloads, unless the query has `include: 'payload'`. */
  list(query?: JobListQuery, options?: CallOptions): List<ListedJob, JobList>
  /** A JSON merge patch: named fields are replaced, null removes a field, fields that are not named stay. */
  patch(
    jobId: string,
    patch: Record<string, unknown>,
    options: WriteOptions & { ifMatch: IfMatch },
  ): Promise<Job>
  /** The job of this key shall be so: creates it or replaces it. */
  putByKey(key: string, job: JobRequest, options?: ChangeOptions & { ifNoneMatch?: '*' }): Promise<CreatedJob>
  pause(jobId: string, request?: PauseRequest, options?: ChangeOptions): Promise<JobState>
  resume(jobId: string, options?: ChangeOptions): Promise<JobState>
  delete(jobId: string, options?: ChangeOptions & { cancelRunning?: boolean }): Promise<JobState>
  /** Runs it now. Without `payload_override` it is called with its own payload. */
  trigger(jobId: string, request?: TriggerRequest, options?: PostOptions): Promise<TriggerReply>
  /** Runs it up to 1,000 times, now: once for each of `payload_overrides`, or `count` times with its own payload. */
  triggerMany(jobId: string, request: TriggerManyRequest, options?: PostOptions): Promise<TriggerManyReply>
  /**
   * Runs a job made by defineJob once, now and alone, with this payload. All starts of a job are executions of one job of
   * type IMMEDIATE for its handler, with the key `start.` and that of the job. Needs the scopes write and operate.
   */
  start<Input>(
    job: JobReservation<Input>,
    payload: Input,
    options?: PostOptions,
  ): Promise<CreatedJob & { execution_id: string }>
  /** Runs the slots of a past range. */
  backfill(jobId: string, request: BackfillRequest, options?: PostOptions): Promise<Operation>
  /** Pauses, resumes, deletes or triggers all jobs that match. */
  bulk(request: BulkRequest, options?: PostOptions): Promise<Operation>
  /** Its executions, newest first; with status SKIPPED its slots that have none. */
  executions(
    jobId: string,
    query?: ExecutionListQuery,
    options?: CallOptions,
  ): List<ExecutionItem | SkippedSlot, ExecutionList>
  /** The status of every slot, oldest first, or with `order: 'desc'` the latest first. */
  slots(jobId: string, query?: SlotListQuery, options?: CallOptions): List<SlotItem, SlotList>
  /** One sentence why it ran or did not. */
  why(jobId: string, query?: WhyQuery, options?: CallOptions): Promise<WhyReply>
  /** All jobs that depend on each other, through this one. */
  graph(jobId: string, options?: CallOptions): Promise<JobGraph>
}

export function createJobsApi(call: Call): JobsApi {
  const { get, list, post, root, pathOf } = resource(call, '/api/v1/jobs')
  const starter = new JobStarter(call)
  return {
    create: (body, options) => post(root, body, options),
    get,
    list: (query, options) => list((page: JobList) => page.jobs, query, options),
    // After a lost answer the version has moved on: the repeat would be refused though the change was made.
    patch: (jobId, body, options) =>
      call({ method: 'PATCH', path: pathOf(jobId), body, ...ifMatch(options) }, options),
    putByKey: (key, body, options = {}) => {
      const { headers, repeat } = ifMatch(options)
      const isBound = options.ifNoneMatch !== undefined
      return call(
        {
          method: 'PUT',
          path: `${root}/by-key/${encodeURIComponent(key)}`,
          body,
          headers: isBound ? { ...headers, 'if-none-match': '*' } : headers,
          repeat: isBound ? 'once' : repeat,
        },
        options,
      )
    },
    pause: (jobId, body = {}, options) =>
      call({ method: 'PATCH', path: pathOf(jobId, 'pause'), body, ...ifMatch(options) }, options),
    resume: (jobId, options) =>
      call({ method: 'PATCH', path: pathOf(jobId, 'resume'), ...ifMatch(options) }, options),
    delete: (jobId, options = {}) => {
      const query = options.cancelRunning === true ? { cancel_running: true } : {}
      return call({ method: 'DELETE', path: pathOf(jobId), query, ...ifMatch(options) }, options)
    },
    trigger: (jobId, body = {}, options) => post(pathOf(jobId, 'trigger'), body, options),
    triggerMany: (jobId, body, options) => post(pathOf(jobId, 'triggers'), body, options),
    start: (job, payload, options) => starter.start(job, payload, options),
    backfill: (jobId, body, options) => post(pathOf(jobId, 'backfill'), body, options),
    bulk: (body, options) => post(`${root}/bulk`, body, options),
    executions: (jobId, query, options) =>
      list((page: ExecutionList) => page.executions, query, options, pathOf(jobId, 'executions')),
    slots: (jobId, query, options) =>
      list((page: SlotList) => page.slots, query, options, pathOf(jobId, 'slots')),
    why: (jobId, query = {}, options) => call({ path: pathOf(jobId, 'why'), query, repeat: 'same' }, options),
    graph: (jobId, options) => call({ path: pathOf(jobId, 'graph'), repeat: 'same' }, options),
  }
}

function ifMatch(options: { ifMatch?: IfMatch } = {}): {
  headers: Record<string, string>
  repeat: 'same' | 'once'
} {
  const { ifMatch: known } = options
  if (known === undefined) return { headers: {}, repeat: 'same' }
  return {
    headers: { 'if-match': known === '*' ? '*' : `"${known}"` },
    repeat: known === '*' ? 'same' : 'once',
  }
}
