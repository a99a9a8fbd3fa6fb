// What every attempt of one job version shares, prepared once.
import type { Execution, Executor } from '../domain/jobs/job.ts'
import type { RetryPolicy } from '../domain/queue/retry.ts'
import type { HttpTarget } from '../ports/http.ts'
import type { Definition } from '../ports/queue.ts'
import { prepareHttp } from './executors/http.ts'

export type Prepared = PreparedHttp | PreparedLocal

export interface PreparedAny {
  readonly tenantId: string
  /** JSON; null: it has none. */
  readonly body: string | null
  readonly timeoutMs: number
  /** An attempt that says nothing for too long is over. */
  readonly hasHeartbeat: boolean
  /** Maintenance may end an attempt of it for being silent, or for all attempts taking too long, while it runs. */
  readonly isWatched: boolean
  readonly retryPolicy: RetryPolicy
  readonly jitterSeconds: number
  /** About how much memory it takes. */
  readonly bytes: number
}

export interface PreparedHttp extends PreparedAny {
  readonly executor: 'http'
  /** Host and port: what the cap and the circuit breaker count. */
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

/** Of what runs on this machine: no target is to be spared. */
export const noHost = ''

/** `version`: of the program. */
export function prepare(definition: Definition, version: string): Prepared {
  const { tenantId, name, execution, retryPolicy, jitterSeconds } = definition
  const body = 'payload' in execution ? JSON.stringify(execution.payload) : null
  const hasHeartbeat = execution.heartbeat_timeout_seconds !== undefined
  // What runs here is handed on as it is; of an HTTP call the address is the longest part.
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
  if (execution.type === 'http') return { ...shared, ...prepareHttp(execution, version) }
  return { ...shared, executor: execution.type, host: noHost, jobName: name, execution }
}
