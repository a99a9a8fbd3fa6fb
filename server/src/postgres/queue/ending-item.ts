// What is said of one execution, as statements take it.
import type { Ending } from '../../ports/queue.ts'

/** One letter a field: a finish of 2,000 executions is one JSON text. */
export function toEndingItem(ending: Ending): object {
  if (ending.kind === 'running' || ending.kind === 'awaiting')
    return { k: ending.kind, s: ending.startedAt, g: ending.deadline }
  if (ending.kind === 'unstarted')
    return ending.host === null ? { k: 'unstarted' } : { k: 'unstarted', c: ending.host }
  const { end } = ending
  const item: Record<string, unknown> = { k: 'ended', o: end.outcome, z: end.finishedAt }
  if (end.startedAt !== null) item['s'] = end.startedAt
  if (end.durationMs !== null) item['d'] = Math.round(end.durationMs)
  if (end.httpStatus !== null) item['h'] = end.httpStatus
  if (end.preview !== null) item['w'] = end.preview
  if (end.error !== null) {
    item['t'] = end.error.type
    item['m'] = end.error.message
  }
  if (end.retryAt !== null) item['a'] = end.retryAt
  if (end.deadReason !== null) item['x'] = end.deadReason
  return item
}
