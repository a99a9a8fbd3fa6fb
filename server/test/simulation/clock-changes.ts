// Finds where the clocks of a zone change while a simulation runs, and makes schedules with slots there: at local times
// that do not exist, and at local times that occur twice.
import { type EpochMs, epochMs } from '../../src/lib/time/epoch.ts'
import type { Random } from '../../src/ports/random.ts'
import type { JobRow } from '../../testing/memory-store/rows.ts'
import { drawMs } from './faults.ts'
import type { Simulation } from './world.ts'

export interface ClockChange {
  zone: string
  at: EpochMs
  /** By how much the clocks are put forwards; negative: back. */
  byMs: number
}

/** Zones over which draw-options.ts lays simulations. */
const ZONES = [
  'Europe/Berlin',
  'America/New_York',
  'Australia/Lord_Howe',
  'Africa/Cairo',
  'America/Santiago',
] as const

/** The one that comes in this simulation; null: none does. */
export function findClockChange({ options }: Simulation, untilMs: number): ClockChange | null {
  const { startAt } = options
  for (const zone of ZONES) {
    const change = changeOf(zone, startAt, startAt + untilMs)
    if (change !== null) return change
  }
  return null
}

const known = new Map<string, ClockChange | null>()

function changeOf(zone: string, from: number, to: number): ClockChange | null {
  const key = `${zone} ${from} ${to}`
  const before = known.get(key)
  if (before !== undefined) return before
  const start = Temporal.Instant.fromEpochMilliseconds(Math.trunc(from)).toZonedDateTimeISO(zone)
  const next = start.getTimeZoneTransition('next')
  const found =
    next === null || next.epochMilliseconds > to
      ? null
      : {
          zone,
          at: epochMs(next.epochMilliseconds),
          byMs: (next.offsetNanoseconds - start.offsetNanoseconds) / 1e6,
        }
  known.set(key, found)
  return found
}

/** Every minute of the hours around it, or once a day at a time near it. */
export function drawAtChange(
  random: Random,
  { zone, at, byMs }: ClockChange,
): { cron_expression: string; timezone: string } {
  const local = (ms: number) => Temporal.Instant.fromEpochMilliseconds(ms).toZonedDateTimeISO(zone)
  const before = local(at - 1)
  const { hour: after } = local(at)
  if (random.next() < 0.5) {
    const hours = [...new Set([before.hour, (before.hour + 1) % 24, after])].join(',')
    return { cron_expression: `* ${hours} * * *`, timezone: zone }
  }
  // Where clocks are put forward, that is a time that does not exist; where they are put back, one that soon occurs
  // again.
  const isAgain = byMs < 0 && random.next() < 0.7
  const plain = (isAgain ? local(at) : before).toPlainDateTime()
  const { hour, minute } = byMs > 0 || isAgain ? plain.add({ minutes: drawMs(random, 1, 4) }) : plain
  return { cron_expression: `${minute} ${hour} * * *`, timezone: zone }
}

/** Slots of a job within ten minutes of a change of its zone's clocks, by whether they were put forwards or back. */
export function countAtChanges(
  { versions }: JobRow,
  slots: readonly EpochMs[],
): { forwards: number; back: number } {
  const counts = { forwards: 0, back: 0 }
  const { timezone } = versions.get(1)!.schedule as { timezone?: string }
  const [first, last] = [slots[0], slots.at(-1)]
  if (timezone === undefined || timezone === 'UTC' || first === undefined || last === undefined) return counts
  const change = changeOf(timezone, first - nearMs, last + nearMs)
  if (change === null) return counts
  const near = slots.filter((slot) => Math.abs(slot - change.at) <= nearMs).length
  counts[change.byMs > 0 ? 'forwards' : 'back'] += near
  return counts
}

const nearMs = 600_000
