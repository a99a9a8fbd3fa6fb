// Nodes of a run by status, in the order of a bar: ended ones first, future ones last.
import { formatCount, words } from '../../lib/format.ts'

const order = [
  'SUCCEEDED',
  'SKIPPED',
  'FAILED',
  'TIMED_OUT',
  'CANCELLED',
  'CANCELLING',
  'RUNNING',
  'RETRYING',
  'PENDING',
  'WAITING_DEPENDENCIES',
]
const endedCount = 5

export interface ProgressPart {
  status: string
  count: number
  isEnded: boolean
}

export function inProgressOrder(counts: Readonly<Record<string, number>>): ProgressPart[] {
  const placeOf = (status: string) => (order.includes(status) ? order.indexOf(status) : order.length)
  return Object.entries(counts)
    .filter(([, count]) => count > 0)
    .map(([status, count]) => ({ status, count, isEnded: placeOf(status) < endedCount }))
    .toSorted((a, b) => placeOf(a.status) - placeOf(b.status))
}

/** "8 of 12 nodes ended: 7 succeeded, 1 failed, 4 pending". */
export function progressText(counts: Readonly<Record<string, number>>): string {
  const parts = inProgressOrder(counts)
  const total = parts.reduce((sum, { count }) => sum + count, 0)
  const ended = parts.reduce((sum, { count, isEnded }) => sum + (isEnded ? count : 0), 0)
  const list = parts.map(({ status, count }) => `${formatCount(count)} ${words(status)}`).join(', ')
  return `${formatCount(ended)} of ${formatCount(total)} nodes ended${list === '' ? '' : `: ${list}`}`
}

/** An event of the live stream about a run. */
export interface RunNews {
  graph_run_id: string
  status: string
  states: unknown
}

/** The row of a run with the events since it was read. */
export function withNews<Row extends { status: string; nodes_by_status: Record<string, number> }>(
  row: Row,
  news: RunNews | undefined,
): Row {
  if (news === undefined) return row
  const counts = typeof news.states === 'object' && news.states !== null ? news.states : row.nodes_by_status
  return { ...row, status: news.status, nodes_by_status: counts as Record<string, number> }
}
