// When a pause ends by itself.
import { type EpochMs, epochMs } from '../../lib/time/epoch.ts'
import { dayMs } from '../../lib/time/units.ts'
import { requireInstant } from '../http/instant.ts'
import { refuseField } from '../http/problem.ts'

const pauseMsMax = 10 * 366 * dayMs

export function readUntil(text: string, now: EpochMs): EpochMs {
  const until = epochMs(Math.round(requireInstant(text, '/until', '2030-01-31T09:00:00Z')))
  if (until <= now) throw refuseField('/until', 'must lie in the future')
  if (until - now > pauseMsMax) throw refuseField('/until', 'must be at most 10 years from now')
  return until
}
