// Which slots a schedule has, by other code and another author than the engine's: croner for cron in a zone, plain
// arithmetic for the rest. Knows the schedules of the chaos workload and no others, and says so.
import { Cron } from 'croner'
import type { StoredSchedule } from './check-evidence.ts'

export interface OracleSpan {
  /** Slots strictly after this instant… */
  after: number
  /** …up to this one, which is included. */
  upTo: number
  /** The anchor of an interval that has no start. */
  anchorAt: number
}

/** In order. */
export function slotsOf(schedule: StoredSchedule, { after, upTo, anchorAt }: OracleSpan): number[] {
  refuseUnknown(schedule)
  switch (schedule.type) {
    case 'ONE_TIME': {
      const at = Date.parse(schedule.scheduled_time!)
      return at > after && at <= upTo ? [at] : []
    }
    case 'INTERVAL':
      return intervalSlots(schedule.every_seconds! * 1_000, { after, upTo, anchorAt })
    case 'CRON':
      return cronSlots(schedule.cron_expression!, schedule.timezone ?? 'UTC', { after, upTo })
    default:
      throw new Error(`the oracle knows no schedule of type ${schedule.type}`)
  }
}

const known = ['type', 'cron_expression', 'timezone', 'scheduled_time', 'every_seconds']

function refuseUnknown(schedule: StoredSchedule): void {
  const unknown = Object.keys(schedule).find((name) => !known.includes(name))
  if (unknown !== undefined) throw new Error(`the oracle does not know ${unknown} of a schedule`)
}

/** A grid from the second of the anchor; its first slot is one interval later. */
function intervalSlots(everyMs: number, { after, upTo, anchorAt }: OracleSpan): number[] {
  const start = Math.floor(anchorAt / 1_000) * 1_000
  const slots: number[] = []
  const first = Math.max(1, Math.floor((after - start) / everyMs) + 1)
  for (let at = start + first * everyMs; at <= upTo; at += everyMs) slots.push(at)
  return slots
}

/** The slots found for each expression, in order and without a gap: many jobs share one, and croner is slow. */
const found = new Map<string, { from: number; to: number; slots: number[] }>()

function cronSlots(
  expression: string,
  zone: string,
  { after, upTo }: Pick<OracleSpan, 'after' | 'upTo'>,
): number[] {
  const name = `${expression} in ${zone}`
  let list = found.get(name)
  if (list === undefined || after < list.from) list = { from: after, to: after, slots: [] }
  if (upTo > list.to) {
    const cron = new Cron(expression, { timezone: zone })
    // A run that lies on the instant itself is not after it.
    for (let at = cron.nextRun(new Date(list.to)); at !== null; at = cron.nextRun(at)) {
      if (at.getTime() > upTo) break
      if (at.getTime() > list.to) list.slots.push(at.getTime())
    }
    list = { ...list, to: upTo }
    found.set(name, list)
  }
  return list.slots.filter((at) => at > after && at <= upTo)
}
