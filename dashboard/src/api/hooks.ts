// Reading from components: one value, a list page by page. Actions are in components/confirm-action.tsx.
import type { Pagination } from '@carillon/contract/pagination.ts'
import {
  keepPreviousData,
  QueryClient,
  useInfiniteQuery,
  useQuery,
  useQueryClient,
} from '@tanstack/react-query'
import { useCallback, useMemo } from 'react'
import { ApiProblem, api, type Query } from './client.ts'

/** Maximum number of kept pages of a list; to see more, narrow the filter. */
const pagesMax = 100
const pageSize = 100
/** A list that was read further is not asked for again by itself: that would be a request for every page of it. */
const refreshedPagesMax = 3

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 2_000,
      gcTime: 60_000,
      refetchOnWindowFocus: true,
      retry: (count, error) => count < 2 && isWorthRepeating(error),
    },
  },
})

// A refused request would be refused again, except after a rate limit.
function isWorthRepeating(error: Error): boolean {
  const status = error instanceof ApiProblem ? error.status : 0
  return status < 400 || status >= 500 || status === 429
}

export interface GetOptions {
  query?: Query
  enabled?: boolean
  /** Asked again so often while the page is seen. */
  everyMs?: number
  /** While another query is loading the old answer stays. */
  keep?: boolean
  /** For operators: another tenant than the chosen one; null: that of the session. */
  tenantId?: string | null
}

/** `GET path`; its key is [path, query], so `useInvalidate` finds it by the beginning of the path. */
export function useGet<Reply>(path: string, options: GetOptions = {}) {
  const { query = {}, enabled = true, everyMs, keep, tenantId } = options
  const of = tenantId === undefined ? {} : { tenantId }
  return useQuery({
    queryKey: tenantId === undefined ? [path, query] : [path, query, tenantId],
    queryFn: ({ signal }) => api.get<Reply>(path, { query, signal, ...of }),
    enabled,
    refetchInterval: everyMs ?? false,
    ...(keep === true && { placeholderData: keepPreviousData }),
  })
}

/** A list page by page. `name` is the field of the answer that has the items. */
export function useList<Item>(path: string, name: string, options: GetOptions = {}) {
  const { query = {}, enabled = true } = options
  const client = useQueryClient()
  const queryKey = [path, query, 'pages']
  const found = useInfiniteQuery({
    queryKey,
    queryFn: ({ signal, pageParam }) =>
      api.get<Record<string, unknown>>(path, {
        query: { limit: pageSize, ...query, cursor: pageParam },
        signal,
      }),
    initialPageParam: null as string | null,
    getNextPageParam: (last, pages) =>
      pages.length >= pagesMax ? undefined : ((last['pagination'] as Pagination).next_cursor ?? undefined),
    enabled,
    refetchOnWindowFocus: (known) => pagesOf(known.state.data) <= refreshedPagesMax,
  })
  const keyText = JSON.stringify(queryKey)
  const { refetch } = found
  const restart = useCallback(() => {
    client.setQueryData<Pages>(JSON.parse(keyText), (before) => before && firstPageOf(before))
    return refetch()
  }, [client, keyText, refetch])
  const items = useMemo(
    () => (found.data?.pages ?? []).flatMap((page) => page[name] as Item[]),
    [found.data, name],
  )
  const first = found.data?.pages[0]?.['pagination'] as Pagination | undefined
  const last = found.data?.pages.at(-1)?.['pagination'] as Pagination | undefined
  return {
    items,
    total: first?.total ?? null,
    totalCapped: first?.total_capped ?? false,
    isLoading: found.isPending,
    isFetchingMore: found.isFetchingNextPage,
    error: found.error,
    hasMore: found.hasNextPage,
    /** Whether the last page was read. */
    isComplete: last !== undefined && last.next_cursor === null,
    fetchMore: useCallback(() => void found.fetchNextPage(), [found.fetchNextPage]),
    /** From the first page on. */
    refetch: restart,
  }
}

interface Pages {
  pages: unknown[]
  pageParams: unknown[]
}

function firstPageOf({ pages, pageParams }: Pages): Pages {
  return { pages: pages.slice(0, 1), pageParams: pageParams.slice(0, 1) }
}

function pagesOf(known: unknown): number {
  return (known as Pages | undefined)?.pages?.length ?? 0
}

/** Refetches everything on the page with a path that begins with one of these prefixes. */
export function useInvalidate() {
  const client = useQueryClient()
  return useCallback(
    (...prefixes: string[]) =>
      client.invalidateQueries({
        predicate: ({ queryKey: [path, , kind], state }) =>
          typeof path === 'string' &&
          prefixes.some((prefix) => path.startsWith(prefix)) &&
          (kind !== 'pages' || pagesOf(state.data) <= refreshedPagesMax),
      }),
    [client],
  )
}
