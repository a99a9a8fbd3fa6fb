// The figures of the tiles.
import type { ActivityItem } from '@carillon/contract/activity.ts'
import { formatCount, formatShare, plural } from '../../lib/format.ts'
import type { Tile } from './tiles.tsx'

export interface Counted {
  total: number
  capped: boolean
}

export interface Figures {
  /** Undefined: not known yet. */
  failing: Counted | undefined
  /** Null: the tenant has none to see. */
  deadLetters: Counted | null | undefined
  /** Slots of the last hour that began late, were missed or wait. */
  late: number | undefined
  activity: readonly ActivityItem[] | undefined
}

export function tilesOf({ failing, deadLetters, late, activity }: Figures): Tile[] {
  const { started, within1s, ended } = sumsOf(activity ?? [])
  const tiles: (Tile | false)[] = [
    {
      name: 'Failing',
      value: countOf(failing),
      note: failing?.total === 1 ? 'job' : 'jobs',
      tone: (failing?.total ?? 0) > 0 ? 'bad' : 'good',
      to: '/jobs',
      search: { health: 'FAILING' },
    },
    deadLetters !== null && {
      name: 'Dead letters',
      value: countOf(deadLetters),
      note: 'waiting for a decision',
      tone: (deadLetters?.total ?? 0) > 0 ? 'warn' : 'good',
      to: '/dead-letters',
    },
    {
      name: 'Late',
      value: late === undefined ? null : formatCount(late),
      note: 'in the last hour',
      tone: (late ?? 0) > 0 ? 'warn' : 'good',
      to: '/',
      hash: 'late',
    },
    {
      name: 'On time',
      value: activity === undefined ? null : started === 0 ? '–' : formatShare(within1s / started),
      note: `of ${plural(ended, 'run')} in an hour`,
      tone: started > 0 && within1s / started < 0.99 ? 'warn' : 'good',
      to: '/sla',
    },
  ]
  return tiles.filter((tile) => tile !== false)
}

/** Whether nothing ran in the hour. */
export function isQuiet(activity: readonly ActivityItem[]): boolean {
  const { started, ended } = sumsOf(activity)
  return started === 0 && ended === 0
}

function sumsOf(buckets: readonly ActivityItem[]) {
  const sum = (of: (bucket: ActivityItem) => number) => buckets.reduce((total, one) => total + of(one), 0)
  return {
    ended: sum((one) => one.succeeded + one.failed + one.timed_out),
    started: sum((one) => one.started),
    within1s: sum((one) => one.within_1s),
  }
}

function countOf(counted: Counted | null | undefined): string | null {
  return counted == null ? null : formatCount(counted.total, counted.capped)
}
