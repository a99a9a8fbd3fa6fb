// The continuation or end of an attempt, as a parameter of statements: one letter a field, as listed in `endingItem`.
import type { Ending } from '../../ports/queue.ts'
import type { endingItem, markItem } from '../sql/ending.ts'
import type { WireOf } from '../sql/item.ts'

export type MarkWire = WireOf<typeof markItem>
export type EndingWire = WireOf<typeof endingItem>

/** Built field by field: this is the hot path of a finish, and absent fields cost nothing. */
export function toEndingItem(ending: Ending): EndingWire {
  if (ending.kind === 'running' || ending.kind === 'awaiting')
    return { k: ending.kind, s: ending.startedAt, g: ending.deadline }
  if (ending.kind === 'unstarted')
    return {
      k: 'unstarted',
      ...(ending.host !== null && { c: ending.host }),
      ...(ending.toOwnLane === true && { q: true }),
    }
  const { end } = ending
  const item: EndingWire = { k: 'ended', o: end.outcome, z: end.finishedAt }
  if (end.startedAt !== null) item.s = end.startedAt
  if (end.durationMs !== null) item.d = Math.round(end.durationMs)
  if (end.httpStatus !== null) item.h = end.httpStatus
  if (end.preview !== null) item.w = end.preview
  const { usage } = end
  if (usage !== undefined) {
    item.y = usage.cpuMs
    item.i = usage.bytesSent
    item.r = usage.bytesReceived
  }
  if (end.error !== null) {
    item.t = end.error.type
    item.m = end.error.message
  }
  if (end.retryAt !== null) item.a = end.retryAt
  if (end.deadReason !== null) item.x = end.deadReason
  return item
}
