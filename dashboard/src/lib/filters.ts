// Filters live in the address: a link shows the list that its sender saw, and back goes back.
import { useNavigate, useSearch } from '@tanstack/react-router'
import { useCallback } from 'react'

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
