// A job in a scheduler's memory and its planned slots, for the tests of planning.
import assert from 'node:assert/strict'
import { type EpochMs, epochMs } from '../src/lib/time/epoch.ts'
import type { Cursor } from '../src/ports/slots.ts'
import { type Entry, toEntry } from '../src/scheduler/entry.ts'
import { planSlots } from '../src/scheduler/plan-slots.ts'
import type { Plan } from '../src/scheduler/planned-slot.ts'

export const everySecond = '* * * * * *'
const base = Date.UTC(2026, 0, 2, 10)

/** Seconds after 10:00. */
export function at(seconds: number): EpochMs {
  return epochMs(base + seconds * 1_000)
}

/** By default it runs each second, its next slot is second 0, its cursor was just written. */
export function cursorOf(expression = everySecond, changes: Partial<Cursor> = {}): Cursor {
  return {
    jobId: 'a job',
    partitionId: 0,
    tenantId: 'a tenant',
    version: 3,
    slotAt: at(0),
    dueAt: at(0),
    recordedAt: null,
    schedule: { type: 'CRON', cron_expression: expression },
    anchorAt: at(0),
    priority: 4,
    route: 'server',
    overlapPolicy: 'SKIP',
    misfirePolicy: 'FIRE_ONCE',
    misfireWindowSeconds: null,
    jitterSeconds: 0,
    limited: false,
    ownRows: false,
    runs: 0,
    calendars: null,
    graphId: null,
    ...changes,
  }
}

export function entryOf(expression?: string, changes?: Partial<Cursor>): Entry {
  const entry = toEntry(cursorOf(expression, changes), at(0))
  assert(entry !== null)
  return entry
}

export function plan(entry: Entry, nowSeconds: number, staysInMemory = true): Plan {
  return planSlots(entry, {
    now: at(nowSeconds),
    misfireAfterMs: 60_000,
    outageUpTo: at(nowSeconds),
    staysInMemory: () => staysInMemory,
  })
}
