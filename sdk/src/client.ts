// The client for Carillon's API. Runs wherever fetch does; no dependencies.
import type { Ready } from '#contract/health.ts'
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
    ready: () => call<Ready>(options, '/readyz', [503]),
    workers: () => call<WorkerList>(options, '/api/v1/workers'),
  }
}

async function call<T>(
  options: ClientOptions,
  path: string,
  alsoExpected: readonly number[] = [],
): Promise<T> {
  const { url, key, timeoutMs = 30_000 } = options
  const headers = {
    accept: 'application/json',
    ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
  }
  let response: Response
  let body: unknown
  try {
    response = await fetch(new URL(path, url), { headers, signal: AbortSignal.timeout(timeoutMs) })
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
