// A job in the scheduler's memory: its compiled schedule and the slot it fires next.
import assert from 'node:assert/strict'
import { partitionsCount } from '../domain/job.ts'
import { misfireWindowMs } from '../domain/misfire.ts'
import { compileSchedule } from '../domain/schedule/compile-schedule.ts'
import { type CompiledSchedule, nextSlot } from '../domain/schedule/next-run.ts'
import type { EpochMs } from '../lib/epoch.ts'
import type { Cursor } from '../ports/slots.ts'

export interface Entry {
  readonly jobId: string
  readonly partitionId: number
  readonly tenantId: string
  readonly version: number
  readonly schedule: CompiledSchedule
  readonly priority: number
  readonly allowOverlap: boolean
  /** How old a misfired slot may be and still run. */
  readonly windowMs: number
  slot: EpochMs
  /** When the wheel hands it out: the slot's due time, or later when it must be tried again. */
  dueAt: EpochMs
  /** When its cursor was last written. */
  movedAt: EpochMs
}

/** A dense job's cursor is written at most this often; a restart then looks a minute back into `slots`. */
export const moveEveryMs = 60_000

/** Null: every slot the cursor stands for is recorded, and none is left. */
export function toEntry(cursor: Cursor, now: EpochMs): Entry | null {
  const { jobId, partitionId, slotAt, recordedAt } = cursor
  const compiled = compileSchedule(cursor.schedule, { createdAt: cursor.anchorAt, jobId })
  // What is stored was compiled before; that it no longer compiles would be a bug of ours.
  assert(compiled.ok, `the stored schedule of job ${jobId} does not compile`)
  const schedule = compiled.value.compiled
  const slot = recordedAt === null || recordedAt < slotAt ? slotAt : nextSlot(schedule, recordedAt)
  if (slot === null) return null
  return {
    jobId,
    partitionId,
    tenantId: cursor.tenantId,
    version: cursor.version,
    schedule,
    priority: cursor.priority,
    allowOverlap: cursor.overlapPolicy === 'ALLOW',
    windowMs: misfireWindowMs(schedule, cursor.misfireWindowSeconds),
    slot,
    dueAt: slot,
    // Spread by partition, so that jobs loaded together do not write their cursors together.
    movedAt: (now - Math.floor((partitionId / partitionsCount) * moveEveryMs)) as EpochMs,
  }
}
