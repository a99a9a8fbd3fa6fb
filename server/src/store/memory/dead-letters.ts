// Dead letters in memory.
import { rankOf, triggerPriority } from '../../domain/rank.ts'
import { serverRoute } from '../../domain/route.ts'
import type { EpochMs } from '../../lib/epoch.ts'
import type {
  DeadLetter,
  DeadLetterPage,
  DeadLetterQuery,
  DeadLetters,
  RedriveOrder,
} from '../../ports/dead-letters.ts'
import { totalMax } from '../../ports/history.ts'
import { makeLive } from './make-live.ts'
import type { DeadLetterRow } from './rows.ts'
import { compareText } from './sorted-set.ts'
import type { MemoryStore } from './store.ts'

export class MemoryDeadLetters implements DeadLetters {
  readonly #store: MemoryStore

  constructor(store: MemoryStore) {
    this.#store = store
  }

  async list({ tenantId, jobId, before, limit }: DeadLetterQuery): Promise<DeadLetterPage> {
    const all = [...this.#store.deadLetters.values()]
      .filter((one) => one.tenantId === tenantId && (jobId === null || one.jobId === jobId))
      .toSorted((a, b) => compareText(b.executionId, a.executionId))
    const behind = before === null ? all : all.filter(({ executionId }) => executionId < before)
    return {
      deadLetters: behind.slice(0, limit).map(letterOf),
      more: behind.length > limit,
      total: Math.min(all.length, totalMax + 1),
    }
  }

  async get(tenantId: string, executionId: string): Promise<DeadLetter | null> {
    const row = this.#find(tenantId, executionId)
    return row === null ? null : letterOf(row)
  }

  async redrive({
    tenantId,
    letters,
  }: RedriveOrder): Promise<{ executionId: string; newExecutionId: string }[]> {
    return letters.flatMap(({ executionId, newExecutionId, lane }) => {
      const row = this.#find(tenantId, executionId)
      if (row === null) return []
      this.#store.deadLetters.delete(executionId)
      this.#enqueue(row, newExecutionId, lane)
      return [{ executionId, newExecutionId }]
    })
  }

  async discard(tenantId: string, executionId: string): Promise<'discarded' | 'not_found'> {
    if (this.#find(tenantId, executionId) === null) return 'not_found'
    this.#store.deadLetters.delete(executionId)
    return 'discarded'
  }

  async depth(): Promise<{ count: number; oldestAt: EpochMs | null }> {
    const { deadLetters } = this.#store
    // A map is in the order of insertion, and letters come in the order of their deaths.
    const oldest = deadLetters.values().next().value
    return { count: Math.min(deadLetters.size, totalMax + 1), oldestAt: oldest?.diedAt ?? null }
  }

  #find(tenantId: string, executionId: string): DeadLetterRow | null {
    const row = this.#store.deadLetters.get(executionId)
    return row?.tenantId === tenantId ? row : null
  }

  #enqueue(letter: DeadLetterRow, executionId: string, lane: string): void {
    const { jobId, tenantId, slot, idempotencyKey } = letter
    const job = this.#store.jobs.get(jobId)!
    const { overlapPolicy, ...version } = job.versions.get(job.version)!
    const priority = triggerPriority(version.priority)
    const now = this.#store.now()
    this.#store.addLive(
      makeLive({
        executionId,
        jobId,
        version: job.version,
        tenantId,
        kind: 'redrive',
        state: overlapPolicy === 'ALLOW' ? 'ready' : 'waiting',
        route: serverRoute,
        lane,
        priority,
        slot,
        enqueuedAt: now,
        rank: rankOf(now, priority),
        ...('payload' in letter ? { payloadOverride: letter.payload } : {}),
        idempotencyKey,
        retryOf: letter.executionId,
      }),
    )
  }
}

function letterOf(row: DeadLetterRow): DeadLetter {
  const { tenantId: _tenantId, idempotencyKey: _idempotencyKey, slot: _slot, ...letter } = row
  return letter
}
