// The number of matches of a list. A search counts no further than a bound, and may have counted fewer than were read since.
import { formatCount } from './format.ts'

export interface FoundCount {
  /** Of the first page; null: not counted. */
  total: number | null
  totalCapped: boolean
  loaded: number
  /** Whether the last page was read. */
  isComplete: boolean
}

export function foundText({ total, totalCapped, loaded, isComplete }: FoundCount): string {
  if (total === null) return ''
  if (!totalCapped) return `${formatCount(total)} found`
  if (isComplete) return `${formatCount(loaded)} found`
  const least = Math.max(total, loaded)
  return least === 0 ? 'none found yet' : `${formatCount(least, true)} found`
}
