// The other workers like a worker, in memory.
import { isDeepStrictEqual } from 'node:util'
import { classOf, type WorkClass } from '../../src/domain/queue/concurrency-limits.ts'
import { heldCountMax, type PeerLoad, peersMax, waitingCountMax } from '../../src/domain/queue/spread.ts'
import { workerBeatMs } from '../../src/domain/queue/worker.ts'
import type { Peers, RunningOfTenant } from '../../src/ports/peers.ts'
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
    return this.#find(workerId, (one, own) => isDeepStrictEqual(kindOf(one), kindOf(own)))
  }

  async findCallers(workerId: string): Promise<string[]> {
    return this.#find(
      workerId,
      (one, own) =>
        [one, own].every((lease) => classOf(lease) === 'calls') &&
        isDeepStrictEqual(one.executors, own.executors),
    )
  }

  #find(workerId: string, isAlike: (one: LeaseRow, own: LeaseRow) => boolean): string[] {
    const { leases } = this.#store
    const own = leases.get(workerId)
    if (own === undefined) return []
    const ids = [...leases.values()]
      .filter((one) => one !== own && this.#claims(one) && isAlike(one, own))
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

  async countRunning(tenantIds: readonly string[], workerIds: readonly string[]): Promise<RunningOfTenant[]> {
    const { leases, live } = this.#store
    const counts = new Map<string, RunningOfTenant>()
    const count = (tenantId: string, what: WorkClass | 'awaitedHere', executions = 1) => {
      if (!tenantIds.includes(tenantId) || executions === 0) return
      const none = { tenantId, calls: 0, commands: 0, own: 0, awaitedHere: 0 }
      const counted = counts.get(tenantId) ?? none
      counts.set(tenantId, { ...counted, [what]: counted[what] + executions })
    }
    for (const lease of leases.values()) {
      if (workerIds.includes(lease.workerId)) continue
      for (const { tenantId } of lease.live) count(tenantId, classOf(lease))
      // The batches of our own workers are left within moments.
      if (lease.tenantId !== null) count(lease.tenantId, 'own', sizeOf(lease.batches))
    }
    for (const { state, tenantId, callerId } of live.values()) {
      if (state !== 'awaiting') continue
      if (callerId !== null && callerId === workerIds[0]) count(tenantId, 'awaitedHere')
      else if (callerId === null || !workerIds.includes(callerId)) count(tenantId, 'calls')
    }
    return [...counts.values()]
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
