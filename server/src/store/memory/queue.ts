// The worker's side of the queue in memory.
import { executionIdAt } from '../../domain/execution.ts'
import { sharedLane } from '../../domain/lane.ts'
import type {
  AttemptEnd,
  AttemptKey,
  Claimed,
  ClaimOrder,
  Definition,
  DefinitionKey,
  Ending,
  FinishAnswer,
  FinishedBatch,
  FinishedLive,
  OwnAttempt,
  Queue,
  Waiting,
} from '../../ports/queue.ts'
import { claim } from './claim.ts'
import { cancelledEnd, leaveBatch, recordAttempt } from './record-attempt.ts'
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
      const { tenantId, name, execution, retryPolicy, priority, jitterSeconds } = found
      return [{ jobId, version, tenantId, name, execution, retryPolicy, priority, jitterSeconds }]
    })
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
      const row = leaveBatch(this.#store, batch, entry)
      const cancelMessage = batch.cancels.get(entry.position)
      if (cancelMessage !== undefined) Object.assign(row, { cancelledAt: this.#store.now(), cancelMessage })
      const ending = byPosition.get(entry.position) ?? { kind: 'unstarted', host: null }
      if (this.#leave(row, workerId, ending) === 'cancelled') answer.cancelled.push(row.executionId)
    }
  }

  #leave(row: LiveRow, workerId: string, ending: Ending): 'cancelled' | null {
    if (ending.kind === 'running') {
      Object.assign(row, { state: 'running', workerId, fence: 1, attempt: 1, startedAt: ending.startedAt })
    } else if (row.cancelMessage !== null) {
      this.#recordCancelled({ ...row, attempt: 1 }, workerId, ending)
      return 'cancelled'
    } else if (ending.kind === 'unstarted') {
      row.host = ending.host
    } else {
      row.attempt = 1
      this.#record(row, workerId, ending.end)
      if (ending.end.retryAt === null) return null
      Object.assign(row, { state: 'retrying', readyAt: ending.end.retryAt })
    }
    this.#store.addLive(row)
    return null
  }

  #record(row: LiveRow, workerId: string, end: AttemptEnd): void {
    recordAttempt(this.#store, row, workerId, { ...end, final: end.retryAt === null })
  }

  /** What the target answered stays on the attempt, and changes nothing. */
  #recordCancelled(row: LiveRow, workerId: string, ending: FinishedLive['ending']): void {
    const said = ending.kind === 'ended' ? ending.end : {}
    recordAttempt(this.#store, row, workerId, cancelledEnd(this.#store, row.cancelMessage!, said))
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
    } else if (row.cancelMessage !== null) {
      this.#store.deleteLive(row)
      this.#recordCancelled(row, workerId, ending)
      answer.cancelled.push(executionId)
    } else if (ending.kind === 'unstarted') {
      this.#store.changeLive(row, handedBack(row, ending.host))
    } else {
      this.#record(row, workerId, ending.end)
      this.#endAttempt(row, ending.end)
    }
  }

  #endAttempt(row: LiveRow, { retryAt }: AttemptEnd): void {
    if (retryAt === null) this.#store.deleteLive(row)
    else {
      const between = { workerId: null, host: null, startedAt: null, readyAt: retryAt }
      this.#store.changeLive(row, { state: 'retrying', ...between })
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
    const answer = emptyAnswer()
    for (const row of live) {
      const ending = { kind: 'unstarted', host: row.host } as const
      this.#finishLive(workerId, { ...row, ending }, answer)
    }
    for (const batch of batches) this.#finishBatch(workerId, { ...batch, endings: [] }, answer)
    const all = live.length + batches.reduce((sum, { entries }) => sum + entries.length, 0)
    return all - answer.cancelled.length
  }
}

function emptyAnswer(): FinishAnswer {
  return { missing: [], cancelled: [] }
}

/** No attempt was spent; the rank is kept. */
function handedBack(row: LiveRow, host: string | null): Partial<LiveRow> {
  return { state: 'ready', workerId: null, attempt: row.attempt - 1, startedAt: null, host }
}
