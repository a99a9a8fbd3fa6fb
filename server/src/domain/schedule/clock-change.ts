// The effect of a clock change on a slot or on a stretch of time: the facts that a preview shows.
import { FIRST_SECOND, LAST_SECOND } from './civil.ts'
import { segmentAt, type Zone } from './zone.ts'
import { type LocalPattern, nextLocal } from './zone-search.ts'

export type ClockChange =
  /** The slot is the first instant after a gap; `from` and `to` are the local seconds the gap skipped. */
  | { kind: 'gap'; from: number; to: number }
  /** The slot's local time happens twice; this is its first or second time. */
  | { kind: 'fold'; pass: 1 | 2 }

/** The clock change that touches one instant, or null. */
export function clockChangeAt(zone: Zone, second: number): ClockChange | null {
  if (zone.fixedOffset !== null || second < FIRST_SECOND || second >= LAST_SECOND) return null
  const k = segmentAt(zone, second)
  const offset = zone.offsets[k]!
  const start = zone.starts[k]!
  const before = k > 0 ? zone.offsets[k - 1]! : offset
  if (before < offset && second === start) return { kind: 'gap', from: start + before, to: start + offset }
  if (before > offset && second + offset < start + before) return { kind: 'fold', pass: 2 }
  const end = zone.starts[k + 1]!
  const after = k + 1 < zone.offsets.length ? zone.offsets[k + 1]! : offset
  return after < offset && second + offset >= end + after ? { kind: 'fold', pass: 1 } : null
}

/** Whether a gap swallowed a time of this pattern, so that its slot stands for times that do not exist. */
export function isMovedByGap(pattern: LocalPattern, change: ClockChange | null): boolean {
  if (change?.kind !== 'gap' || !pattern.runAfterGap) return false
  return nextLocal(pattern, change.from) < change.to
}

/** The first instant in [from, to) after a gap that loses times of this pattern, or null. */
export function lostToGap(pattern: LocalPattern, from: number, to: number): number | null {
  const zone = pattern.zone
  if (zone.fixedOffset !== null || pattern.runAfterGap || from >= LAST_SECOND) return null
  for (let k = Math.max(1, segmentAt(zone, Math.max(from, FIRST_SECOND))); k < zone.offsets.length; k++) {
    const start = zone.starts[k]!
    if (start >= to) return null
    const before = zone.offsets[k - 1]!
    const offset = zone.offsets[k]!
    if (start >= from && before < offset && nextLocal(pattern, start + before) < start + offset) return start
  }
  return null
}
