// A lane is one tenant's queue, or the one that small tenants share. A tenant that enqueues more than 50 executions a
// second gets a lane of its own, so that its burst waits in its own queue; counted by each process for itself.

export const sharedLane = 'shared'
const ownLanePerSecond = 50
const tenantsMax = 10_000

export class LaneChooser {
  #second = 0
  #counts = new Map<string, number>()
  /** The tenants that were busy in the second before: a lane is kept for as long as the burst goes on. */
  #before = new Map<string, number>()

  /** The lane for one more execution of this tenant, or for so many that are enqueued together. */
  choose(tenantId: string, nowMs: number, executions = 1): string {
    const second = Math.floor(nowMs / 1_000)
    if (second !== this.#second) {
      this.#before = second === this.#second + 1 ? this.#counts : new Map()
      this.#counts = new Map()
      this.#second = second
    }
    const count = (this.#counts.get(tenantId) ?? 0) + executions
    if (count === executions && this.#counts.size >= tenantsMax)
      return executions > ownLanePerSecond ? tenantId : sharedLane
    this.#counts.set(tenantId, count)
    const busy = count > ownLanePerSecond || (this.#before.get(tenantId) ?? 0) > ownLanePerSecond
    return busy ? tenantId : sharedLane
  }
}
