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
import { createList, type List } from './list.ts'

export interface DeadLettersApi {
  /** Newest first. */
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

const root = '/api/v1/dead-letters'

export function createDeadLettersApi(call: Call): DeadLettersApi {
  const pathOf = (executionId: string) => `${root}/${encodeURIComponent(executionId)}`
  const redrive = <T>(body: object, options: PostOptions | undefined) =>
    call<T>({ method: 'POST', path: `${root}/redrive`, body, repeat: 'keyed' }, options)
  return {
    list: (query, options) =>
      createList(
        (cursor) =>
          call<DeadLetterList>(
            { path: root, query: { ...query, ...(cursor !== undefined && { cursor }) }, repeat: 'same' },
            options,
          ),
        (page) => page.dead_letters,
      ),
    get: (id, options) => call({ path: pathOf(id), repeat: 'same' }, options),
    patch: (id, body, options) => call({ method: 'PATCH', path: pathOf(id), body, repeat: 'same' }, options),
    // A second time it is not there any more, which would look like a failure.
    discard: (id, options) => call({ method: 'DELETE', path: pathOf(id), repeat: 'once' }, options),
    redrive: (executionIds, options) => redrive({ execution_ids: executionIds }, options),
    redriveMany: (request, options) => redrive(request, options),
  }
}
