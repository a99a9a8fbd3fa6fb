// Everything a stage may ask of the outside besides the store. Passed in, never imported, so the same
// code runs on a real machine and in the deterministic simulator.
import type { Clock } from './clock.ts'
import type { Http } from './http.ts'
import type { Ids } from './ids.ts'
import type { Random } from './random.ts'
import type { Timers } from './timers.ts'

export interface World {
  clock: Clock
  timers: Timers
  random: Random
  ids: Ids
  http: Http
}
