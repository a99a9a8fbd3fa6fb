// The worker's side of the queue in memory.
import { sharedLane } from '../../domain/lane.ts'
import type {
  AttemptEnd,
  AttemptKey,
  Claimed,
  ClaimOrder,
  Definition,
  DefinitionKey,
  Ending,
  FinishedBatch,
  FinishedLive,
  OwnAttempt,
  Queue,
  Waiting,
} from '../../ports/queue.ts'
import { claim } from './claim.ts'
import { leaveBatch, recordAttempt } from './record-attempt.ts'
import type { LiveRow } from './rows.ts'
import type { MemoryStore } from './store.ts'

/** Of the tier `unlimited`. */
const weightDefault = 10

export class MemoryQueue implements Queue {
  readonly #store: MemoryStore

  constructor(store: MemoryStore) {
    this.#store = store
  }

  async waiting(route: string, limit: number): Promise<Waiting> {
    const { claimable, weights } = this.#store
    const weightOf = (lane: string) => (lane === sharedLane ? 1 : (weights.get(lane) ?? weightDefault))
    const lanes = claimable.lanes(route).slice(0, limit)
    return {
      lanes: lanes.map((lane) => ({ lane, weight: weightOf(lane) })),
      hosts: claimable.hosts(route).slice(0, limit),
    }
  }

  async claim(order: ClaimOrder): Promise<Claimed> {
    return claim(this.#store, order)
  }

  async definitions(keys: readonly DefinitionKey[]): Promise<Definition[]> {
    return keys.flatMap(({ jobId, version }) => {
      const found = this.#store.jobs.get(jobId)?.versions.get(version)
      if (found === undefined) return []
      const { tenantId, name, execution, retryPolicy, priority } = found
      return [{ jobId, version, tenantId, name, execution, retryPolicy, priority }]
    })
  }

  async finishBatches(workerId: string, finished: readonly FinishedBatch[]): Promise<string[]> {
    return finished.filter((one) => !this.#finishBatch(workerId, one)).map(({ batchId }) => batchId)
  }

  #finishBatch(workerId: string, { batchId, fence, endings }: FinishedBatch): boolean {
    const batch = this.#store.batches.get(batchId)
    if (batch?.workerId !== workerId || batch.fence !== fence) return false
    this.#store.deleteBatch(batch)
    const byPosition = new Map(endings.map(({ position, ending }) => [position, ending]))
    for (const entry of batch.entries) {
      const row = leaveBatch(this.#store, batch, entry)
      this.#leave(row, workerId, byPosition.get(entry.position) ?? { kind: 'unstarted', host: null })
    }
    return true
  }

  #leave(row: LiveRow, workerId: string, ending: Ending): void {
    if (ending.kind === 'unstarted') {
      row.host = ending.host
    } else if (ending.kind === 'running') {
      Object.assign(row, { state: 'running', workerId, fence: 1, attempt: 1, startedAt: ending.startedAt })
    } else {
      row.attempt = 1
      this.#record(row, workerId, ending.end)
      if (ending.end.retryAt === null) return
      Object.assign(row, { state: 'retrying', readyAt: ending.end.retryAt })
    }
    this.#store.addLive(row)
  }

  #record(row: LiveRow, workerId: string, end: AttemptEnd): void {
    recordAttempt(this.#store, row, workerId, { ...end, final: end.retryAt === null })
  }

  async finishLive(workerId: string, ends: readonly FinishedLive[]): Promise<string[]> {
    return ends.filter((one) => !this.#finishLive(workerId, one)).map(({ executionId }) => executionId)
  }

  #finishLive(workerId: string, { executionId, fence, ending }: FinishedLive): boolean {
    const row = this.#store.live.get(executionId)
    if (row?.workerId !== workerId || row.fence !== fence) return false
    if (ending.kind === 'unstarted') {
      this.#store.changeLive(row, handedBack(row, ending.host))
      return true
    }
    this.#record(row, workerId, ending.end)
    const { retryAt } = ending.end
    if (retryAt === null) this.#store.deleteLive(row)
    else {
      const between = { workerId: null, host: null, startedAt: null, readyAt: retryAt }
      this.#store.changeLive(row, { state: 'retrying', ...between })
    }
    return true
  }

  async findOwn(workerId: string, attempts: readonly AttemptKey[]): Promise<OwnAttempt[]> {
    return attempts.flatMap(({ executionId, attempt }): OwnAttempt[] => {
      const rows = this.#store.log.of(executionId)
      if (rows.some((row) => row.attempt === attempt && row.workerId === workerId && row.outcome !== 'lost'))
        return [{ executionId, state: 'recorded' }]
      return this.#store.live.get(executionId)?.workerId === workerId ? [{ executionId, state: 'held' }] : []
    })
  }

  async returnUnknown(
    workerId: string,
    known: { batchIds: readonly string[]; executionIds: readonly string[] },
  ): Promise<number> {
    const lease = this.#store.leases.get(workerId)
    if (lease === undefined) return 0
    const batchIds = new Set(known.batchIds)
    const executionIds = new Set(known.executionIds)
    const live = [...lease.live].filter(({ executionId }) => !executionIds.has(executionId))
    const batches = [...lease.batches].filter(({ batchId }) => !batchIds.has(batchId))
    for (const row of live) this.#store.changeLive(row, handedBack(row, row.host))
    for (const batch of batches) {
      this.#store.deleteBatch(batch)
      for (const entry of batch.entries) this.#store.addLive(leaveBatch(this.#store, batch, entry))
    }
    return live.length + batches.reduce((sum, { entries }) => sum + entries.length, 0)
  }
}

/** No attempt was spent; the rank is kept. */
function handedBack(row: LiveRow, host: string | null): Partial<LiveRow> {
  return { state: 'ready', workerId: null, attempt: row.attempt - 1, startedAt: null, host }
}
