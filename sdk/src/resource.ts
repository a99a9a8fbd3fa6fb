// The calls that every resource of the API takes, under its path.
import type { Pagination } from '#contract/pagination.ts'
import type { Call, CallOptions, PostOptions, WriteOptions } from './call.ts'
import { createList, type List } from './list.ts'

export function resource(call: Call, root: string) {
  const pathOf = (id: string, verb?: string) =>
    `${root}/${encodeURIComponent(id)}${verb === undefined ? '' : `/${verb}`}`
  return {
    root,
    pathOf,
    get: <T>(id: string, options?: CallOptions) => call<T>({ path: pathOf(id), repeat: 'same' }, options),
    /** Keyed: sent twice it is done once. */
    post: <T>(path: string, body: unknown, options?: PostOptions) =>
      call<T>({ method: 'POST', path, body, repeat: 'keyed' }, options),
    put: <T>(id: string, body: unknown, options?: WriteOptions) =>
      call<T>({ method: 'PUT', path: pathOf(id), body, repeat: 'same' }, options),
    patch: <T>(id: string, body: unknown, options?: WriteOptions) =>
      call<T>({ method: 'PATCH', path: pathOf(id), body, repeat: 'same' }, options),
    // A second time it is not there any more, which would look like a failure.
    remove: (id: string, options?: WriteOptions) =>
      call<void>({ method: 'DELETE', path: pathOf(id), repeat: 'once' }, options),
    /** `path`: the root, unless the list is one of a single thing. */
    list: <Page extends { pagination: Pagination }, Item>(
      itemsOf: (page: Page) => readonly Item[],
      query?: object,
      options?: CallOptions,
      path = root,
    ): List<Item, Page> =>
      createList(
        (cursor) =>
          call<Page>(
            { path, query: { ...query, ...(cursor !== undefined && { cursor }) }, repeat: 'same' },
            options,
          ),
        itemsOf,
      ),
  }
}
