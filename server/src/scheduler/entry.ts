// A job in the scheduler's memory: its compiled schedule and the slot it fires next.
import assert from 'node:assert/strict'
import { type OverlapPolicy, partitionsCount, type StoredSchedule } from '../domain/jobs/job.ts'
import { isAfterCompletion } from '../domain/schedule/after-completion.ts'
import { compileStored } from '../domain/schedule/compile-schedule.ts'
import { dueAtOf } from '../domain/schedule/jitter.ts'
import { type CompiledSchedule, nextSlot } from '../domain/schedule/next-run.ts'
import { type LateJob, misfireWindowMs } from '../domain/scheduling/misfire.ts'
import { RecentMap } from '../lib/recent-map.ts'
import type { EpochMs } from '../lib/time/epoch.ts'
import type { Cursor } from '../ports/slots.ts'

export interface Entry extends Readonly<LateJob> {
  readonly partitionId: number
  readonly tenantId: string
  readonly version: number
  readonly priority: number
  readonly route: string
  readonly overlapPolicy: OverlapPolicy
  readonly limited: boolean
  readonly ownRows: boolean
  /** The stored schedule of a job that counts from the end of its last execution; null: it counts from a grid. */
  readonly afterCompletion: StoredSchedule | null
  /** Slots that may run; null: no limit. */
  readonly maxRuns: number | null
  /** The calendars that the schedule was compiled with; null: it uses none. */
  readonly calendars: { names: readonly string[]; revision: number } | null
  /** The graph it is a root of; null: it is in none. */
  readonly graphId: string | null
  /** Slots that ran, while there is a `maxRuns`. */
  runs: number
  slot: EpochMs
  /** The latest slot that is known to be recorded: where the store begins to look for it. Null: none is known. */
  recordedAt: EpochMs | null
  /** When it leaves the due queue: the due time of the slot, or later if it must be tried again. */
  dueAt: EpochMs
  /** When its cursor was last written. */
  movedAt: EpochMs
  /** When it came into memory: slots that were due before could not be fired. */
  loadedAt: EpochMs
  /** Its slot was tried and could not be fired, which is the reason if it comes late now. */
  delayedByOutage: boolean
}

/** A dense job's cursor is written at most this often; a restart then looks a minute back into `slots`. */
export const moveEveryMs = 60_000

/** Each row brings its own copy of the same texts: half a million entries are 200 MB with shared ones and 270 without. */
const sharedTexts = new RecentMap<string>({ weightMax: 20_000 })

function share<T extends string>(text: T): T {
  const known = sharedTexts.get(text)
  if (known !== undefined) return known as T
  sharedTexts.set(text, text)
  sharedTexts.prune()
  return text
}

/** Null: every slot the cursor stands for is recorded, and none is left or none is known yet. */
export function toEntry(cursor: Cursor, now: EpochMs): Entry | null {
  const { jobId, partitionId, jitterSeconds, calendars } = cursor
  const schedule = compileStored(cursor, calendars?.entries)
  // A stored schedule was compiled before; that it no longer compiles would be a bug of ours.
  assert(schedule !== null, `the stored schedule of job ${jobId} does not compile`)
  const afterCompletion = isAfterCompletion(cursor.schedule) ? cursor.schedule : null
  const slot = firstOpen(cursor, afterCompletion === null ? schedule : null)
  if (slot === null) return null
  return {
    jobId,
    partitionId,
    tenantId: share(cursor.tenantId),
    version: cursor.version,
    schedule,
    priority: cursor.priority,
    route: share(cursor.route),
    overlapPolicy: share(cursor.overlapPolicy),
    limited: cursor.limited,
    ownRows: cursor.ownRows,
    misfirePolicy: share(cursor.misfirePolicy),
    windowMs: misfireWindowMs(schedule, cursor.misfireWindowSeconds),
    jitterSeconds,
    afterCompletion,
    maxRuns: cursor.schedule.max_runs ?? null,
    calendars: calendars && { names: Object.keys(calendars.entries), revision: calendars.revision },
    graphId: cursor.graphId,
    runs: cursor.runs,
    slot,
    recordedAt: cursor.recordedAt,
    dueAt: dueAtOf({ jobId, jitterSeconds }, slot),
    // Spread by partition, so that jobs loaded together do not write their cursors together.
    movedAt: (now - Math.floor((partitionId / partitionsCount) * moveEveryMs)) as EpochMs,
    loadedAt: now,
    delayedByOutage: false,
  }
}

/** Without a grid the slot after a recorded one is not known: the release loop plans it. */
function firstOpen({ slotAt, recordedAt }: Cursor, grid: CompiledSchedule | null): EpochMs | null {
  if (recordedAt === null || recordedAt < slotAt) return slotAt
  return grid === null ? null : nextSlot(grid, recordedAt)
}
