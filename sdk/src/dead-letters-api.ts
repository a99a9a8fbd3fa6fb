// client.deadLetters: executions that used up their retries and wait for a person.
import type {
  DeadLetter,
  DeadLetterList,
  DeadLetterListQuery,
  DeadLetterPatch,
  RedriveReply,
  RedriveRequest,
} from '#contract/dead-letter.ts'
import type { Operation } from '#contract/operation.ts'
import type { Call, CallOptions, PostOptions, WriteOptions } from './call.ts'
import type { List } from './list.ts'
import { resource } from './resource.ts'

export interface DeadLettersApi {
  /** Newest first; without payloads, unless the query has `include: 'payload'`. */
  list(query?: DeadLetterListQuery, options?: CallOptions): List<DeadLetter, DeadLetterList>
  get(executionId: string, options?: CallOptions): Promise<DeadLetter>
  /** Corrects the input that it is called with when it is redriven. */
  patch(executionId: string, patch: DeadLetterPatch, options?: WriteOptions): Promise<DeadLetter>
  discard(executionId: string, options?: WriteOptions): Promise<void>
  /** Runs these again, at most 200 in a call. */
  redrive(executionIds: readonly string[], options?: PostOptions): Promise<RedriveReply>
  /** Runs all again that match, at most so many a second. */
  redriveMany(
    request: { filter: NonNullable<RedriveRequest['filter']>; rate_per_second?: number },
    options?: PostOptions,
  ): Promise<Operation>
}

export function createDeadLettersApi(call: Call): DeadLettersApi {
  const { get, list, post, patch, remove, pathOf } = resource(call, '/api/v1/dead-letters')
  const redrivePath = pathOf('redrive')
  return {
    list: (query, options) => list((page: DeadLetterList) => page.dead_letters, query, options),
    get,
    patch,
    discard: remove,
    redrive: (executionIds, options) => post(redrivePath, { execution_ids: executionIds }, options),
    redriveMany: (request, options) => post(redrivePath, request, options),
  }
}
