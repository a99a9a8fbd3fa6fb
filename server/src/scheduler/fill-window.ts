// Keeps the due queue filled: loads the jobs that come due within the look-ahead window, takes the changes of new and
// edited jobs, and once in a while looks for overdue jobs that should have been in the due queue and are not.
import { lookAheadMs } from '../domain/scheduling/look-ahead.ts'
import type { EpochMs } from '../lib/time/epoch.ts'
import type { Clock } from '../ports/clock.ts'
import type { Cursor, Slots } from '../ports/slots.ts'
import { overdueFound } from '../telemetry/events.ts'
import type { DueQueue } from './due-queue.ts'
import { moveEveryMs, toEntry } from './entry.ts'
import type { LoadWindow } from './load-window.ts'

export interface LoadDeps {
  clock: Pick<Clock, 'databaseNow'>
  slots: Slots
  dueQueue: DueQueue
  window: LoadWindow
  /** Called when a job was put that may be due before the fire loop looks again. */
  onPut: () => void
  /** Called when everything is to be loaded again: until then jobs that fire leave the due queue. */
  onReload: () => void
}

/**
 * Rows loaded at once, over all partitions: the process does nothing else while it reads them ([m] 64,000 rows: all slots of
 * that time were 0.4 s late).
 */
const loadMax = 4_096
/** The due queue is not filled beyond this, which is 250 MB; the rest of a larger herd is loaded as it fires. */
const entriesMax = 600_000
const changesMax = 5_000
export const takeChangesEveryMs = 1_000
export const loadEveryMs = lookAheadMs / 4
/** Overdue jobs of each partition in one look. */
const overdueMax = 1_000
export const recoverOverdueEveryMs = 60_000
/** A dense job's cursor lags by `moveEveryMs`; an older one was fired, or is missing from the due queue. */
const overdueMs = moveEveryMs + 30_000

/** One load of the window. */
export async function fillWindow({
  clock,
  slots,
  dueQueue,
  window,
  onPut,
}: LoadDeps): Promise<'more' | 'idle' | number> {
  const now = clock.databaseNow()
  const wantedUntil = (now + lookAheadMs / 2) as EpochMs
  window.want(wantedUntil, now)
  if (dueQueue.size >= entriesMax) return 100
  const dueBefore = (now + lookAheadMs) as EpochMs
  const partitions = window.begin(wantedUntil, dueBefore)
  if (partitions.length === 0) return 'idle'
  const limit = Math.ceil(loadMax / partitions.length)
  let cursors: Cursor[]
  try {
    cursors = await slots.load({ partitions, dueBefore, limit })
  } catch (error) {
    window.reload()
    throw error
  }
  const byPartition = Map.groupBy(cursors, ({ partitionId }) => partitionId)
  // By job and not by partition: jobs that were made together lie together, and are fired together.
  const inOrder = cursors.toSorted((a, b) => (a.jobId < b.jobId ? -1 : 1))
  put({ dueQueue, window }, inOrder, (partitionId) => window.wantedSince(partitionId) ?? now)
  let more = false
  for (const { partitionId } of partitions) {
    const loaded = byPartition.get(partitionId) ?? []
    const whole = loaded.length < limit
    window.end(partitionId, loaded.at(-1) ?? null, whole)
    more ||= !whole
  }
  if (cursors.length > 0) onPut()
  return more ? 'more' : 'idle'
}

/** Takes the changes of new and edited jobs. */
export async function takeChanges(deps: LoadDeps): Promise<'more' | 'idle'> {
  const { clock, slots, window, onPut } = deps
  const { partitionIds } = window
  if (partitionIds.length === 0) return 'idle'
  let cursors: Cursor[]
  try {
    cursors = await slots.takeChanges(partitionIds, changesMax)
  } catch (error) {
    // The notes of changes may be consumed although the reply was lost.
    window.reload()
    deps.onReload()
    throw error
  }
  const now = clock.databaseNow()
  put(deps, cursors, () => now)
  if (cursors.length > 0) onPut()
  return cursors.length === changesMax ? 'more' : 'idle'
}

/** The safety net: an overdue job that is not in the due queue is put there, and reported, since it should be there. */
export async function recoverOverdue(deps: LoadDeps): Promise<'idle'> {
  const { clock, slots, dueQueue, window, onPut } = deps
  const now = clock.databaseNow()
  const partitions = window.partitionIds.map((partitionId) => ({ partitionId, after: null }))
  if (partitions.length === 0) return 'idle'
  const overdue = await slots.load({ partitions, dueBefore: (now - overdueMs) as EpochMs, limit: overdueMax })
  const missing = overdue.filter(
    ({ jobId, dueAt, partitionId }) => !dueQueue.has(jobId) && window.covers(partitionId, dueAt),
  )
  if (missing.length === 0) return 'idle'
  put(deps, missing, () => now)
  overdueFound.emit({ jobs: missing.length })
  onPut()
  return 'idle'
}

function put(
  { dueQueue, window }: Pick<LoadDeps, 'dueQueue' | 'window'>,
  cursors: readonly Cursor[],
  loadedAt: (partitionId: number) => EpochMs,
): void {
  for (const cursor of cursors) {
    const entry = toEntry(cursor, loadedAt(cursor.partitionId))
    // A job that is due later is loaded when the window comes to it; a partition may have left us meanwhile.
    if (entry === null || !window.covers(entry.partitionId, cursor.dueAt)) continue
    const known = dueQueue.get(entry.jobId)
    // A dense job is loaded again and again, and was there all the time.
    if (known?.version === entry.version) entry.loadedAt = known.loadedAt
    dueQueue.put(entry)
  }
}
