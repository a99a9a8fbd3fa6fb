// The parts that every attempt of a job version shares, prepared once.
import type { Execution, Executor } from '../domain/jobs/job.ts'
import { hostKeyOf } from '../domain/queue/host-gate.ts'
import type { RetryPolicy } from '../domain/queue/retry.ts'
import type { HttpTarget } from '../ports/http.ts'
import type { Definition } from '../ports/queue.ts'
import { prepareHttp } from './executors/http.ts'

export type Prepared = PreparedHttp | PreparedLocal

export interface PreparedAny {
  readonly tenantId: string
  /** JSON; null: the job has none. */
  readonly body: string | null
  readonly timeoutMs: number
  /** An attempt that gives no sign of life for too long is over. */
  readonly hasHeartbeat: boolean
  /** Maintenance may end an attempt while it runs: for its silence, or because all attempts together took too long. */
  readonly isWatched: boolean
  readonly retryPolicy: RetryPolicy
  readonly jitterSeconds: number
  /** About how much memory it takes. */
  readonly bytes: number
}

export interface PreparedHttp extends PreparedAny {
  readonly executor: 'http'
  /** Host and port, and the tenant: the cap and the circuit breaker count by it. See `hostKeyOf`. */
  readonly host: string
  readonly url: string
  readonly target: HttpTarget
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
}

export interface PreparedLocal extends PreparedAny {
  readonly executor: Exclude<Executor, 'http'>
  readonly host: typeof noHost
  readonly jobName: string
  readonly execution: Execution
}

/** The host of an execution that runs on this machine: no limit of calls per host applies. */
export const noHost = ''

/** `version`: the version of the program. */
export function prepare(definition: Definition, version: string): Prepared {
  const { tenantId, name, execution, retryPolicy, jitterSeconds } = definition
  const body = 'payload' in execution ? JSON.stringify(execution.payload) : null
  const hasHeartbeat = execution.heartbeat_timeout_seconds !== undefined
  // An execution on this machine is passed on as it is; the longest part of an HTTP call is its address.
  const length = execution.type === 'http' ? execution.callback_url.length : JSON.stringify(execution).length
  const shared: PreparedAny = {
    tenantId,
    body,
    timeoutMs: execution.timeout_seconds * 1_000,
    hasHeartbeat,
    isWatched: hasHeartbeat || execution.total_timeout_seconds !== undefined,
    retryPolicy,
    jitterSeconds,
    bytes: 1_000 + 2 * (length + (body?.length ?? 0)),
  }
  if (execution.type === 'http') {
    const http = prepareHttp(execution, version)
    return { ...shared, ...http, host: hostKeyOf(http.host, tenantId) }
  }
  return { ...shared, executor: execution.type, host: noHost, jobName: name, execution }
}
