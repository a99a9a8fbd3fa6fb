// The client for Carillon's API. Runs wherever fetch does; no dependencies.
import type { DeadLetterList, DeadLetterListQuery, RedriveReply } from '#contract/dead-letter.ts'
import type { Execution, ExecutionList, ExecutionListQuery } from '#contract/execution.ts'
import type { Ready } from '#contract/health.ts'
import type { CreatedJob, Job, JobRequest, TriggerReply, TriggerRequest } from '#contract/job.ts'
import type { Problem } from '#contract/problem.ts'
import type { WorkerList } from '#contract/worker.ts'

export interface ClientOptions {
  /** Where the API answers, such as `http://127.0.0.1:7420`. */
  url: string
  /** An API key. Not needed for `ready`. */
  key?: string
  /** The longest a call may take. Default 30,000. */
  timeoutMs?: number
}

export interface Client {
  /** Whether the server can do its work now. Resolves also when it cannot; rejects when nobody answers. */
  ready(): Promise<Ready>
  workers(): Promise<WorkerList>
  createJob(job: JobRequest): Promise<CreatedJob>
  getJob(jobId: string): Promise<Job>
  /** Runs a job now. Without `payload_override` it is called with its own payload. */
  trigger(jobId: string, request?: TriggerRequest): Promise<TriggerReply>
  /** Newest first. `pagination.next_cursor` is the `cursor` of the next page. */
  listExecutions(jobId: string, query?: ExecutionListQuery): Promise<ExecutionList>
  getExecution(executionId: string): Promise<Execution>
  listDeadLetters(query?: DeadLetterListQuery): Promise<DeadLetterList>
  /** Runs dead letters again, at most 200 in a call. */
  redrive(executionIds: readonly string[]): Promise<RedriveReply>
}

/** A refused call: the server's problem document, or `problem` null when nobody answered. */
export class CarillonError extends Error {
  readonly problem: Problem | null

  constructor(message: string, problem: Problem | null, options?: ErrorOptions) {
    super(message, options)
    this.name = 'CarillonError'
    this.problem = problem
  }
}

export function createClient(options: ClientOptions): Client {
  return {
    ready: () => call<Ready>(options, '/readyz', { alsoExpected: [503] }),
    workers: () => call(options, '/api/v1/workers'),
    createJob: (job) => call(options, '/api/v1/jobs', { body: job }),
    getJob: (jobId) => call(options, `/api/v1/jobs/${encodeURIComponent(jobId)}`),
    trigger: (jobId, request = {}) =>
      call(options, `/api/v1/jobs/${encodeURIComponent(jobId)}/trigger`, { body: request }),
    listExecutions: (jobId, query = {}) =>
      call(options, `/api/v1/jobs/${encodeURIComponent(jobId)}/executions${queryText(query)}`),
    getExecution: (executionId) => call(options, `/api/v1/executions/${encodeURIComponent(executionId)}`),
    listDeadLetters: (query = {}) => call(options, `/api/v1/dead-letters${queryText(query)}`),
    redrive: (executionIds) =>
      call(options, '/api/v1/dead-letters/redrive', { body: { execution_ids: executionIds } }),
  }
}

function queryText(query: Record<string, string | number | boolean | undefined>): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined)
  return given.length === 0
    ? ''
    : `?${new URLSearchParams(given.map(([name, value]) => [name, String(value)]))}`
}

interface CallOptions {
  /** Sent as JSON, with POST. */
  body?: unknown
  /** Statuses that are an answer though they say no success. */
  alsoExpected?: readonly number[]
}

async function call<T>(
  options: ClientOptions,
  path: string,
  { body: sent, alsoExpected = [] }: CallOptions = {},
): Promise<T> {
  const { url, key, timeoutMs = 30_000 } = options
  const headers = {
    accept: 'application/json',
    ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
    ...(sent === undefined ? {} : { 'content-type': 'application/json' }),
  }
  const request = sent === undefined ? {} : { method: 'POST', body: JSON.stringify(sent) }
  let response: Response
  let body: unknown
  try {
    const signal = AbortSignal.timeout(timeoutMs)
    response = await fetch(new URL(path, url), { ...request, headers, signal })
    body = await response.json()
  } catch (cause) {
    throw new CarillonError(`No answer from ${url}: ${reasonOf(cause)}`, null, { cause })
  }
  if (response.ok) return body as T
  // A server that is stopping answers any path with a problem document.
  const isProblem = response.headers.get('content-type')?.startsWith('application/problem+json') === true
  if (alsoExpected.includes(response.status) && !isProblem) return body as T
  const problem = isProblem ? (body as Problem) : null
  throw new CarillonError(problem?.detail ?? `${url} answered ${response.status}`, problem)
}

function reasonOf(cause: unknown): string {
  const { message, cause: deeper } = cause as Error
  return deeper instanceof Error
    ? deeper.message || (deeper as NodeJS.ErrnoException).code || message
    : message
}
