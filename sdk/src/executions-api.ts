// client.executions: list, follow, and end executions.
import type {
  CancelReply,
  Execution,
  ExecutionSearch,
  ExecutionSearchQuery,
  RetryReply,
  RetryRequest,
} from '#contract/execution.ts'
import type { LogListQuery } from '#contract/log.ts'
import type { CancelManyRequest, Operation } from '#contract/operation.ts'
import type {
  CompleteReply,
  CompleteRequest,
  HeartbeatReply,
  HeartbeatRequest,
  LogList,
  LogPartGiven,
} from '#contract/worker.ts'
import { type Call, type CallOptions, type PostOptions, pause } from './call.ts'
import type { List } from './list.ts'
import { resource } from './resource.ts'

export type LogLine = LogList['logs'][number]

export interface LogQuery extends LogListQuery {
  /** Wait for further lines, until the execution has ended. Default false. */
  follow?: boolean
}

/** The token that a target got in `X-Carillon-Token`: speaks for a single attempt and needs no API key. */
export interface TokenOptions extends CallOptions {
  token: string
}

export interface ExecutionsApi {
  /** One execution with its attempts. */
  get(executionId: string, options?: CallOptions): Promise<Execution>
  /** Over all jobs, newest first. */
  search(
    query?: ExecutionSearchQuery,
    options?: CallOptions,
  ): List<ExecutionSearch['executions'][number], ExecutionSearch>
  /** The same as search. */
  list(
    query?: ExecutionSearchQuery,
    options?: CallOptions,
  ): List<ExecutionSearch['executions'][number], ExecutionSearch>
  cancel(executionId: string, options?: PostOptions): Promise<CancelReply>
  cancelMany(request: CancelManyRequest, options?: PostOptions): Promise<Operation>
  /** Runs it again, as a new execution. */
  retry(executionId: string, request?: RetryRequest, options?: PostOptions): Promise<RetryReply>
  /** The log lines of its attempts, oldest first. */
  logs(
    executionId: string,
    query?: LogQuery,
    options?: CallOptions,
  ): AsyncIterable<LogLine> & { page(): Promise<LogList> }
  /** How a call that was answered with 202 and `X-Carillon-Async: true` ended. */
  complete(executionId: string, request: CompleteRequest, options: TokenOptions): Promise<CompleteReply>
  /** A sign of life of such a call, perhaps with how far it is. */
  heartbeat(executionId: string, request: HeartbeatRequest, options: TokenOptions): Promise<HeartbeatReply>
  /** Lines of such a call. A line that is there is not written again. */
  appendLogs(executionId: string, request: LogPartGiven, options: TokenOptions): Promise<void>
}

const followMs = 1_000

export function createExecutionsApi(call: Call): ExecutionsApi {
  const { get, list, post, root, pathOf } = resource(call, '/api/v1/executions')
  const search: ExecutionsApi['search'] = (query, options) =>
    list((page: ExecutionSearch) => page.executions, query, options)
  const byToken = <T>(
    executionId: string,
    verb: string,
    body: unknown,
    { token, ...options }: TokenOptions,
  ) =>
    call<T>(
      {
        method: 'POST',
        path: pathOf(executionId, verb),
        body,
        headers: { 'x-carillon-token': token },
        // Said twice it is said once: the server knows the attempt, and lines by their number.
        repeat: 'same',
      },
      options,
    )
  return {
    get,
    search,
    list: search,
    cancel: (executionId, options) => post(pathOf(executionId, 'cancel'), undefined, options),
    cancelMany: (body, options) => post(`${root}/cancel`, body, options),
    retry: (executionId, body = {}, options) => post(pathOf(executionId, 'retry'), body, options),
    logs: (executionId, { follow = false, ...query } = {}, options) => {
      const read = (cursor: string | undefined) =>
        call<LogList>(
          {
            path: pathOf(executionId, 'logs'),
            query: { ...query, ...(cursor !== undefined && { cursor }) },
            repeat: 'same',
          },
          options,
        )
      return { page: () => read(undefined), [Symbol.asyncIterator]: () => readLines(read, follow, options) }
    },
    complete: (executionId, body, options) => byToken(executionId, 'complete', body, options),
    heartbeat: (executionId, body, options) => byToken(executionId, 'heartbeat', body, options),
    appendLogs: (executionId, body, options) => byToken(executionId, 'logs', body, options),
  }
}

async function* readLines(
  read: (cursor: string | undefined) => Promise<LogList>,
  follow: boolean,
  options: CallOptions | undefined,
): AsyncGenerator<LogLine> {
  let cursor: string | undefined
  for (;;) {
    const { logs, next_cursor: next } = await read(cursor)
    yield* logs
    // Null: it has ended and all was read. Without `follow`, an empty page is the end.
    if (next === null || (logs.length === 0 && !follow)) return
    if (logs.length === 0) await pause(followMs, options?.signal)
    cursor = next
  }
}
