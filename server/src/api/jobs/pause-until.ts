// When a pause ends by itself.
import { readInstant } from '../../domain/schedule/instant.ts'
import { type EpochMs, epochMs } from '../../lib/time/epoch.ts'
import { dayMs } from '../../lib/time/units.ts'
import { refuseField } from '../http/problem.ts'

const pauseMsMax = 10 * 366 * dayMs

export function readUntil(text: string, now: EpochMs): EpochMs {
  const instant = readInstant(text, 'until', null)
  if (!instant.ok) throw refuseField('/until', 'must be an instant such as 2030-01-31T09:00:00Z')
  const until = epochMs(Math.round(instant.value * 1_000))
  if (until <= now) throw refuseField('/until', 'must lie in the future')
  if (until - now > pauseMsMax) throw refuseField('/until', 'must be at most 10 years from now')
  return until
}
