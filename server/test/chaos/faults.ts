// Every kind of fault of a run: how often it strikes, its requirements, and whether others may go on beside it.
import type { Dice } from '../fuzz/dice.ts'
import {
  exhaustConnections,
  fillDisk,
  holdSnapshot,
  killBackend,
  killDatabase,
  outlastDatabase,
  pauseBackend,
} from './faults-database.ts'
import { cut, halfOpen, slowDown, stall, swallow } from './faults-network.ts'
import {
  killOne,
  killRole,
  mixVersions,
  pause,
  restartAll,
  shiftClock,
  startCold,
} from './faults-processes.ts'
import type { Rig } from './rig.ts'

export interface Kind {
  /** How often it comes in a round of all kinds. */
  weight: number
  /**
   * server: done to some servers; two such may be on at once. database: nothing else is struck meanwhile. background:
   * goes on while others come and go. alone: waits until all of these are over. lasting: goes on for minutes, and
   * faults that would end it are postponed meanwhile.
   */
  place: 'server' | 'database' | 'background' | 'alone' | 'lasting'
  strike: (rig: Rig, dice: Dice) => Promise<void>
}

export const KINDS = {
  kill: { weight: 12, place: 'server', strike: killOne },
  'kill-role': { weight: 4, place: 'server', strike: killRole },
  pause: { weight: 8, place: 'server', strike: pause },
  'rolling-restart': { weight: 2, place: 'server', strike: restartAll },
  'network-cut': { weight: 5, place: 'server', strike: cut },
  'network-stall': { weight: 3, place: 'server', strike: stall },
  'network-half-open': { weight: 3, place: 'server', strike: halfOpen },
  'network-slow': { weight: 2, place: 'server', strike: slowDown },
  'network-swallow': { weight: 4, place: 'server', strike: swallow },
  'database-kill': { weight: 4, place: 'database', strike: killDatabase },
  'backend-kill': { weight: 3, place: 'database', strike: killBackend },
  'backend-pause': { weight: 2, place: 'database', strike: pauseBackend },
  'pool-exhausted': { weight: 2, place: 'database', strike: exhaustConnections },
  'database-outage': { weight: 1, place: 'alone', strike: outlastDatabase },
  'disk-full': { weight: 1, place: 'alone', strike: fillDisk },
  'cold-start': { weight: 1, place: 'alone', strike: startCold },
  clock: { weight: 3, place: 'background', strike: shiftClock },
  'old-version': { weight: 2, place: 'background', strike: mixVersions },
  'old-transaction': { weight: 1, place: 'lasting', strike: holdSnapshot },
  herd: { weight: 2, place: 'background', strike: sendHerd },
} as const satisfies Record<string, Kind>

export type KindName = keyof typeof KINDS

export const KIND_NAMES = Object.keys(KINDS) as KindName[]

/** For two minutes beside other tests, with no rights and no tools. */
export const SMOKE_KINDS: readonly KindName[] = [
  'kill',
  'pause',
  'database-kill',
  'network-cut',
  'network-swallow',
]

/** Jobs that are all due in one second. */
async function sendHerd(rig: Rig, dice: Dice): Promise<void> {
  const count = dice.between(1_000, 2_500)
  await rig.strike({ kind: 'herd', target: 'all', details: { count } }, async () => {
    await rig.driver.herd(count)
    await rig.rest(15_000)
  })
}
