// Takes executions for a single parked claim: within the tenant's limit on running executions, no more than a share while
// other workers wait for the same, and at most one suspect a worker.
import { suspectHost } from '../../domain/queue/route.ts'
import type { Attempts } from '../../ports/attempts.ts'
import type { Claimed, ClaimOrder, Queue } from '../../ports/queue.ts'
import type { ClaimLimits } from './claim-limits.ts'
import { SuspectsInFlight } from './suspects-in-flight.ts'

export interface TakeClaimDeps {
  queue: Pick<Queue, 'waiting' | 'claim'>
  attempts: Pick<Attempts, 'find'>
  limits: Pick<ClaimLimits, 'roomOf' | 'noteClaimed'>
}

export interface ClaimOfWorker {
  worker: { workerId: string; tenantId: string }
  /** Executions, at most. */
  limit: number
  routes: readonly string[]
  /** The share of this worker, where others wait for the same. */
  share: Promise<number>
}

const lanesMax = 256
const batchesMax = 100
export const nothing: Claimed = { batches: [], live: [] }

export class TakeClaim {
  readonly #queue: TakeClaimDeps['queue']
  readonly #limits: TakeClaimDeps['limits']
  readonly #suspects: SuspectsInFlight
  #turn = 0

  constructor({ queue, attempts, limits }: TakeClaimDeps) {
    this.#queue = queue
    this.#limits = limits
    this.#suspects = new SuspectsInFlight(attempts)
  }

  /**
   * While the tenant runs as many as it may, its executions stay in the queue, and its claims wait. 'empty': nothing is left
   * in these routes.
   */
  async take(claim: ClaimOfWorker): Promise<Claimed | 'empty'> {
    const { tenantId } = claim.worker
    const limit = Math.min(claim.limit, this.#limits.roomOf(tenantId))
    if (limit === 0) return nothing
    this.#limits.noteClaimed(tenantId, limit)
    let claimed: Claimed | 'empty' = 'empty'
    try {
      claimed = await this.#take({ ...claim, limit })
      return claimed
    } finally {
      this.#limits.noteClaimed(tenantId, (claimed === 'empty' ? 0 : sizeOf(claimed)) - limit)
    }
  }

  async #take({ worker, limit: wanted, routes, share }: ClaimOfWorker): Promise<Claimed | 'empty'> {
    const { workerId } = worker
    const [waiting, shared] = await Promise.all([this.#queue.waiting(routes, lanesMax), share])
    const limit = Math.min(wanted, shared)
    const hasSuspects = waiting.hosts.includes(suspectHost)
    if (waiting.lanes.length === 0 && !hasSuspects) return 'empty'
    const suspect = hasSuspects && (await this.#suspects.reserve(workerId))
    let claimed = nothing
    try {
      const order = this.#orderOf(waiting.lanes, suspect ? limit - 1 : limit)
      const hosts = suspect ? [{ host: suspectHost, count: 1 }] : []
      if (order.length + hosts.length > 0)
        claimed = await this.#queue.claim({
          ...{ workerId, routes, lanes: order, hosts, batchesMax },
          withinCapacity: true,
        })
    } finally {
      if (suspect) this.#suspects.keep(workerId, claimed.live.find((one) => one.suspect)?.executionId ?? null)
    }
    return claimed
  }

  /** All lanes belong to the same tenant: the shared lane and its own take turns in getting the odd execution. */
  #orderOf(lanes: readonly { lane: string }[], limit: number): ClaimOrder['lanes'] {
    const ordered = this.#turn++ % 2 === 0 ? lanes : lanes.toReversed()
    let left = limit
    return ordered.flatMap(({ lane }, at) => {
      const count = Math.ceil(left / (ordered.length - at))
      left -= count
      return count > 0 ? [{ lane, count }] : []
    })
  }
}

export function sizeOf({ batches, live }: Claimed): number {
  return batches.reduce((sum, { positions }) => sum + positions.length, live.length)
}
