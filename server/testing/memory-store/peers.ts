// The other workers like a worker, in memory.
import { isDeepStrictEqual } from 'node:util'
import { heldCountMax, type PeerLoad, peersMax, waitingCountMax } from '../../src/domain/queue/spread.ts'
import { workerBeatMs } from '../../src/domain/queue/worker.ts'
import type { Peers } from '../../src/ports/peers.ts'
import { countWaiting } from './routes.ts'
import type { BatchRow, LeaseRow } from './rows.ts'
import { compareText } from './sorted-set.ts'
import type { MemoryStore } from './store.ts'

export class MemoryPeers implements Peers {
  readonly #store: MemoryStore

  constructor(store: MemoryStore) {
    this.#store = store
  }

  async find(workerId: string): Promise<string[]> {
    const { leases } = this.#store
    const own = leases.get(workerId)
    if (own === undefined) return []
    const kind = kindOf(own)
    const ids = [...leases.values()]
      .filter((one) => one !== own && this.#claims(one) && isDeepStrictEqual(kindOf(one), kind))
      .map((one) => one.workerId)
      .toSorted(compareText)
    const next = ids.filter((id) => id > workerId)
    return [...next, ...ids.filter((id) => id < workerId)].slice(0, peersMax)
  }

  async measure(workerIds: readonly string[], routes: readonly string[]): Promise<PeerLoad> {
    const { leases } = this.#store
    const peers = workerIds.flatMap((id) => leases.get(id) ?? []).filter((one) => this.#claims(one))
    const held = peers
      .map((one) => ({ capacity: one.capacity, count: one.live.size + sizeOf(one.batches) }))
      .filter(({ capacity, count }) => count < capacity)
      .map(({ count }) => Math.min(heldCountMax, count))
    if (held.length === 0) return { held, waiting: 0 }
    return { held, waiting: countWaiting(this.#store, routes, waitingCountMax) }
  }

  #claims({ status, beatAt }: LeaseRow): boolean {
    return status === 'ACTIVE' && beatAt >= this.#store.now() - 2 * workerBeatMs
  }
}

function kindOf({ tenantId, executors, handlers, labels }: LeaseRow) {
  return { tenantId, executors, handlers, labels }
}

function sizeOf(batches: Iterable<BatchRow>): number {
  return [...batches].reduce((sum, { entries }) => sum + entries.length, 0)
}
