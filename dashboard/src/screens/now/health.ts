// The one sentence about how it goes, and the figures it is made of.
import type { ActivityItem } from '@carillon/contract/activity.ts'

import { formatShare, plural } from '../../lib/format.ts'

export interface Health {
  tone: 'good' | 'bad' | 'quiet'
  sentence: string
}

/** Of the last hour. `failing` jobs had failed attempts; `late` executions began late or still wait. */
export function healthOf(buckets: readonly ActivityItem[], failing: number, late: number): Health {
  const ended = buckets.reduce((sum, one) => sum + one.succeeded + one.failed + one.timed_out, 0)
  const started = buckets.reduce((sum, one) => sum + one.started, 0)
  const within1s = buckets.reduce((sum, one) => sum + one.within_1s, 0)
  if (ended === 0 && started === 0 && failing === 0)
    return { tone: 'quiet', sentence: 'Nothing ran in the last hour.' }
  const parts = [
    `${plural(ended, 'execution')} in the last hour`,
    failing === 0 ? 'no job is failing' : `${plural(failing, 'failing job')}`,
  ]
  if (started > 0) parts.push(`${formatShare(within1s / started)} began within 1 s`)
  if (late > 0) parts.push(`${late} late or missed`)
  return { tone: failing > 0 || late > 0 ? 'bad' : 'good', sentence: `${parts.join(', ')}.` }
}
