// Filters live in the address: a link shows the list that its sender saw, and back goes back.
import { useNavigate, useSearch } from '@tanstack/react-router'
import { useCallback, useMemo } from 'react'
import { serverNow } from './now.ts'
import { dayMs, hourMs, minuteMs } from './units.ts'

export type Filters = Readonly<Record<string, string>>

/** The search part of the address, and a way to change some of it; undefined or '' takes one away. */
export function useFilters(): [Filters, (patch: Record<string, string | undefined>) => void] {
  const filters = useSearch({ strict: false }) as Filters
  const navigate = useNavigate()
  const change = useCallback(
    (patch: Record<string, string | undefined>) =>
      void navigate({
        to: '.',
        search: ((before: Filters) => withPatch(before, patch)) as never,
        replace: true,
        resetScroll: false,
      }),
    [navigate],
  )
  return [filters, change]
}

/** Lengths of time up to now, by the value of `range` in the address. */
const ranges: Readonly<Record<string, { name: string; ms: number }>> = {
  '1h': { name: 'last hour', ms: hourMs },
  '24h': { name: 'last 24 hours', ms: dayMs },
  '7d': { name: 'last 7 days', ms: 7 * dayMs },
  '30d': { name: 'last 30 days', ms: 30 * dayMs },
}
export const rangeOptions = Object.entries(ranges).map(([value, { name }]) => ({ value, name }))

/** The set filters of these names as parameters of the API; the same object while they are the same. */
export function useQueryOf(names: readonly string[]): Record<string, string> {
  const [filters] = useFilters()
  const text = JSON.stringify(names.map((name) => filters[name]))
  // biome-ignore lint/correctness/useExhaustiveDependencies: the text stands for the filters
  return useMemo(() => queryOf(filters, names, serverNow()), [text])
}

/** The beginning of a range is cut to the minute, so that the same list is asked for the same way for a while. */
export function queryOf(filters: Filters, names: readonly string[], nowMs: number): Record<string, string> {
  const { range, ...query } = Object.fromEntries(
    names.flatMap((name) => (filters[name] === undefined ? [] : [[name, filters[name]]])),
  )
  const ms = ranges[range ?? '']?.ms
  if (ms === undefined) return query
  return { ...query, start_date: new Date(Math.floor((nowMs - ms) / minuteMs) * minuteMs).toISOString() }
}

export function withPatch(
  before: Filters,
  patch: Record<string, string | undefined>,
): Record<string, string> {
  const merged = { ...before, ...patch }
  return Object.fromEntries(
    Object.entries(merged).filter(
      (entry): entry is [string, string] => entry[1] !== undefined && entry[1] !== '',
    ),
  )
}

/** Plain texts on both sides: `?status=FAILED`, not JSON. */
export function parseSearch(text: string): Record<string, string> {
  return Object.fromEntries(new URLSearchParams(text))
}

export function formatSearch(search: Record<string, unknown>): string {
  const parameters = new URLSearchParams(
    Object.entries(search)
      .filter(([, value]) => value !== undefined && value !== null && value !== '')
      .map(([name, value]) => [name, String(value)]),
  )
  return parameters.size === 0 ? '' : `?${parameters}`
}
