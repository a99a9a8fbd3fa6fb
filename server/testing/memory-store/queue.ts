// The worker's side of the queue in memory.
import { executionIdAt } from '../../src/domain/queue/execution.ts'
import { sharedLane } from '../../src/domain/queue/lane.ts'
import type {
  AttemptKey,
  Claimed,
  ClaimOrder,
  Definition,
  DefinitionKey,
  FinishAnswer,
  FinishedBatch,
  FinishedLive,
  OwnAttempt,
  Queue,
  Waiting,
} from '../../src/ports/queue.ts'
import { claim, definitionOf, withDefinition } from './claim.ts'
import type { BatchEntry } from './rows.ts'
import { leaveClaimed, settle, takeOut } from './settle.ts'
import type { MemoryStore } from './store.ts'

/** Of the tier `unlimited`. */
const weightDefault = 10

export class MemoryQueue implements Queue {
  readonly #store: MemoryStore
  /** How often more lanes or hosts waited than were asked for. */
  #looks = 0

  constructor(store: MemoryStore) {
    this.#store = store
  }

  async waiting(routes: readonly string[], limit: number): Promise<Waiting> {
    const { claimable, weights } = this.#store
    const weightOf = (lane: string) => (lane === sharedLane ? 1 : (weights.get(lane) ?? weightDefault))
    const all = claimable.lanes(routes)
    const shared = all.filter((lane) => lane === sharedLane)
    const own = all.filter((lane) => lane !== sharedLane)
    const lanes = [...shared, ...this.#inTurn(own, limit - shared.length)]
    return {
      lanes: lanes.map((lane) => ({ lane, weight: weightOf(lane) })),
      hosts: this.#hostsOf(routes, limit),
    }
  }

  #hostsOf(routes: readonly string[], limit: number): string[] {
    const { claimable } = this.#store
    const all = claimable.hosts(routes)
    if (all.length <= limit) return all
    const tenants = claimable.hostsByTenant(routes)
    const look = this.#looks++ * Math.ceil(limit / tenants.length)
    const found = new Set<string>()
    // The tenants in turn, each from another host than at the last look.
    for (let nth = 0; found.size < limit && nth < all.length; nth++)
      for (const hosts of tenants) if (nth < hosts.length) found.add(hosts[(look + nth) % hosts.length]!)
    return [...found].slice(0, limit)
  }

  #inTurn(names: readonly string[], limit: number): string[] {
    const from = names.length > limit ? (this.#looks++ * limit) % names.length : 0
    return [...names.slice(from), ...names.slice(0, from)].slice(0, limit)
  }

  async claim(order: ClaimOrder): Promise<Claimed> {
    const claimed = claim(this.#store, order)
    if (order.singles !== true) return claimed
    return { ...claimed, live: claimed.live.map((one) => withDefinition(this.#store, one)) }
  }

  async definitions(keys: readonly DefinitionKey[]): Promise<Definition[]> {
    return keys.flatMap((key) => definitionOf(this.#store, key) ?? [])
  }

  async finishBatches(workerId: string, finished: readonly FinishedBatch[]): Promise<FinishAnswer> {
    const answer = emptyAnswer()
    for (const one of finished) this.#finishBatch(workerId, one, answer)
    return answer
  }

  #finishBatch(workerId: string, { batchId, fence, endings }: FinishedBatch, answer: FinishAnswer): void {
    const batch = this.#store.batches.get(batchId)
    if (batch?.workerId !== workerId || batch.fence !== fence) {
      answer.missing.push(batchId)
      return
    }
    this.#store.deleteBatch(batch)
    const byPosition = new Map(endings.map(({ position, ending }) => [position, ending]))
    for (const entry of batch.entries) {
      const row = leaveClaimed(this.#store, batch, entry)
      const ending = byPosition.get(entry.position) ?? { kind: 'unstarted', host: null }
      byPosition.delete(entry.position)
      if (settle(this.#store, row, ending) === 'cancelled') answer.cancelled.push(row.executionId)
    }
    for (const position of byPosition.keys()) answer.left.push(executionIdAt(batchId, position))
  }

  async finishLive(workerId: string, ends: readonly FinishedLive[]): Promise<FinishAnswer> {
    const answer = emptyAnswer()
    for (const one of ends) this.#finishLive(workerId, one, answer)
    return answer
  }

  #finishLive(workerId: string, { executionId, fence, ending }: FinishedLive, answer: FinishAnswer): void {
    const row = this.#store.live.get(executionId)
    if (row?.workerId !== workerId || row.fence !== fence) {
      answer.missing.push(executionId)
    } else if (settle(this.#store, row, ending) === 'cancelled') {
      answer.cancelled.push(executionId)
    }
  }

  async findCancelled(workerId: string): Promise<string[]> {
    const lease = this.#store.leases.get(workerId)
    if (lease === undefined) return []
    const inBatches = [...lease.batches].flatMap(({ batchId, cancels }) =>
      [...cancels.keys()].map((position) => executionIdAt(batchId, position)),
    )
    const alone = [...lease.live].filter(({ cancelledAt }) => cancelledAt !== null)
    return [...inBatches, ...alone.map(({ executionId }) => executionId)]
  }

  async findOwn(workerId: string, attempts: readonly AttemptKey[]): Promise<OwnAttempt[]> {
    return attempts.flatMap(({ executionId, attempt }): OwnAttempt[] => {
      const rows = this.#store.log.of(executionId)
      if (rows.some((row) => row.attempt === attempt && row.workerId === workerId && row.outcome !== 'lost'))
        return [{ executionId, status: 'recorded' }]
      const live = this.#store.live.get(executionId)
      if (live?.workerId === workerId) return [{ executionId, status: 'held' }]
      // It awaits its end because this worker reported so.
      const isAwaited = live?.callerId === workerId && live.attempt === attempt
      return isAwaited ? [{ executionId, status: 'recorded' }] : []
    })
  }

  async releaseUnknown(workerId: string, known: readonly string[]): Promise<number> {
    const lease = this.#store.leases.get(workerId)
    if (lease === undefined) return 0
    const executionIds = new Set(known)
    // A batch of which it knows some stays, with these.
    for (const batch of [...lease.batches]) {
      const isKnown = ({ position }: BatchEntry) => executionIds.has(executionIdAt(batch.batchId, position))
      for (const entry of batch.entries.filter((one) => !isKnown(one))) takeOut(this.#store, batch, entry)
    }
    const live = [...lease.live].filter(({ executionId }) => !executionIds.has(executionId))
    const answer = emptyAnswer()
    for (const row of live) {
      const ending = { kind: 'unstarted', host: row.host } as const
      this.#finishLive(workerId, { ...row, ending }, answer)
    }
    return live.length - answer.cancelled.length
  }
}

function emptyAnswer(): FinishAnswer {
  return { missing: [], cancelled: [], left: [] }
}
