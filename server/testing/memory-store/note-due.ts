// Tells the scheduler of a job that is new or changed, if it would fire before the next load of its window.
import { lookAheadMs } from '../../src/domain/scheduling/look-ahead.ts'
import type { CursorRow } from './rows.ts'
import type { MemoryStore } from './store.ts'

/** Slots due later are found by the next load of the window. */
const notedWithinMs = 2 * lookAheadMs

export function noteDue(store: MemoryStore, cursor: CursorRow): void {
  const { status, dueAt } = cursor
  const isSoon = dueAt !== null && dueAt < store.now() + notedWithinMs
  if (isSoon && status === 'ACTIVE') store.noteChange(cursor)
}
