// Divides the free room of a worker among lanes (tenants): the shared lane first, then the lane that was served least for
// its weight. Each worker counts in its own memory; if each worker is fair, the fleet is.
import { sharedLane } from './lane.ts'
import type { WorkerShares } from './worker-shares.ts'

export interface LaneWeight {
  lane: string
  weight: number
}

export interface LaneShare {
  lane: string
  /** Executions to take, at most. */
  count: number
}

/** Places handed out in one go: about a batch. */
const portion = 100

export class FairShare {
  #served = new Map<string, number>()

  /**
   * Splits `free` places over the lanes that have work. `inFlight`: executions of the tenant of each lane at this worker;
   * `shares`: the bounds of these tenants, which the places given to them are counted in. Default null: there are none. The tenants
   * in the shared lane are not known here.
   */
  split(
    lanes: readonly LaneWeight[],
    worker: {
      free: number
      capacity: number
      inFlight: (lane: string) => number
      shares?: WorkerShares | null
    },
  ): LaneShare[] {
    const { shares: tenants } = worker
    const active = lanes.filter(({ lane }) => lane !== sharedLane)
    this.#keep(active)
    const shares = new Map<string, number>()
    let { free } = worker
    if (lanes.length > active.length) {
      // First, but not all of it while others wait: the next round comes at once, and begins here again.
      const shared = active.length === 0 ? free : Math.ceil(free / 2)
      shares.set(sharedLane, shared)
      free -= shared
    }
    // While others wait, one tenant has at most half of the worker, or its share by weight where that is more.
    const weights = active.reduce((sum, { weight }) => sum + weight, 0)
    const room = new Map(
      active.map(({ lane, weight }) => {
        const share = active.length > 1 ? Math.max(1 / 2, weight / weights) : lanes.length > 1 ? 1 / 2 : 1
        return [lane, Math.max(0, Math.max(1, Math.floor(worker.capacity * share)) - worker.inFlight(lane))]
      }),
    )
    const served = new Map(this.#served)
    while (free > 0) {
      let least: LaneWeight | null = null
      for (const one of active) {
        if (room.get(one.lane)! <= 0) continue
        if (least === null || served.get(one.lane)! / one.weight < served.get(least.lane)! / least.weight)
          least = one
      }
      if (least === null) break
      const count = Math.min(free, portion, room.get(least.lane)!, tenants?.roomOf(least.lane) ?? free)
      if (count === 0) {
        room.set(least.lane, 0)
        continue
      }
      tenants?.take(least.lane, count)
      shares.set(least.lane, (shares.get(least.lane) ?? 0) + count)
      served.set(least.lane, served.get(least.lane)! + count)
      room.set(least.lane, room.get(least.lane)! - count)
      free -= count
    }
    return [...shares].map(([lane, count]) => ({ lane, count }))
  }

  /** Counts the executions that a lane really got. */
  count(lane: string, executions: number): void {
    const served = this.#served.get(lane)
    if (served !== undefined) this.#served.set(lane, served + executions)
  }

  // A lane that becomes active starts at the least count among the active ones: idleness is not saved up.
  #keep(active: readonly LaneWeight[]): void {
    const known = active.filter(({ lane }) => this.#served.has(lane))
    const perWeight = known.map(({ lane, weight }) => this.#served.get(lane)! / weight)
    const least = known.length === 0 ? 0 : Math.min(...perWeight)
    this.#served = new Map(
      active.map(({ lane, weight }) => [lane, (this.#served.get(lane) ?? least * weight) - least * weight]),
    )
  }
}
