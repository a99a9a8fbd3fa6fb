// Dead letters in memory.

import type { LetterFilter } from '../../src/domain/jobs/operation.ts'
import { rankOf, triggerPriority } from '../../src/domain/queue/rank.ts'
import { routeOf } from '../../src/domain/queue/route.ts'
import type { EpochMs } from '../../src/lib/time/epoch.ts'
import {
  clusteredMax,
  clusterSamplesMax,
  type DeadLetter,
  type DeadLetterPage,
  type DeadLetterQuery,
  type DeadLetters,
  type LetterCluster,
  type LetterClusters,
  type Redriven,
  type RedriveOrder,
} from '../../src/ports/dead-letters.ts'
import { totalMax } from '../../src/ports/executions.ts'
import { boundedPage } from './bounded-page.ts'
import { errorShape } from './error-shape.ts'
import { hostOfUncharged } from './held-back.ts'
import { entryState, makeLive } from './insert-live.ts'
import type { DeadLetterRow, LiveRow } from './rows.ts'
import { compareText } from './sorted-set.ts'
import type { MemoryStore } from './store.ts'

/** The map of letters is in the order of insertion, and letters come in the order of their deaths. */
export class MemoryDeadLetters implements DeadLetters {
  readonly #store: MemoryStore

  constructor(store: MemoryStore) {
    this.#store = store
  }

  async list({ tenantId, filter, before, ...bounds }: DeadLetterQuery): Promise<DeadLetterPage> {
    const own = [...this.#store.deadLetters.values()].filter((one) => one.tenantId === tenantId)
    const all = own
      .filter((one) => isWanted(one, filter))
      .toSorted((a, b) => compareText(b.executionId, a.executionId))
    const behind = before === null ? all : all.filter(({ executionId }) => executionId < before)
    const textsOf = ({ payload, ...lean }: DeadLetter) => ({ lean, payload })
    const { page, more } = boundedPage(behind.slice(0, bounds.limit + 1).map(letterOf), bounds, textsOf)
    return {
      deadLetters: page,
      more,
      total: Math.min(all.length, totalMax + 1),
      oldestAt: own[0]?.diedAt ?? null,
    }
  }

  async get(tenantId: string, executionId: string): Promise<DeadLetter | null> {
    const row = this.#find(tenantId, executionId)
    return row === null ? null : letterOf(row)
  }

  async edit(tenantId: string, executionId: string, payload: unknown): Promise<DeadLetter | null> {
    const row = this.#find(tenantId, executionId)
    if (row === null) return null
    Object.assign(row, { payload: structuredClone(payload), editedAt: this.#store.now() })
    return letterOf(row)
  }

  async redrive({ tenantId, letters, uncharged = false }: RedriveOrder): Promise<Redriven> {
    const host = uncharged ? hostOfUncharged(this.#store, tenantId) : null
    const result: Redriven = { redriven: [], jobDeleted: [] }
    if (this.#store.deletedTenants.has(tenantId)) return result
    for (const { executionId, newExecutionId, lane } of letters) {
      const row = this.#find(tenantId, executionId)
      if (row === null) continue
      if (this.#store.jobs.get(row.jobId)!.cursor.status === 'DELETED') {
        row.redriveAt = null
        result.jobDeleted.push(executionId)
        continue
      }
      this.#store.deadLetters.delete(executionId)
      this.#enqueue(row, newExecutionId, { lane, host })
      result.redriven.push({ executionId, newExecutionId })
    }
    return result
  }

  async discard(tenantId: string, executionId: string): Promise<'discarded' | 'not_found'> {
    if (this.#find(tenantId, executionId) === null) return 'not_found'
    this.#store.deadLetters.delete(executionId)
    return 'discarded'
  }

  async depth(): Promise<{ count: number; oldestAt: EpochMs | null }> {
    const { deadLetters } = this.#store
    const oldest = deadLetters.values().next().value
    return { count: Math.min(deadLetters.size, totalMax + 1), oldestAt: oldest?.diedAt ?? null }
  }

  async clusters(tenantId: string, limit: number): Promise<LetterClusters> {
    const own = [...this.#store.deadLetters.values()]
      .filter((one) => one.tenantId === tenantId)
      .toSorted((a, b) => compareText(b.executionId, a.executionId))
    const groups = Map.groupBy(own.slice(0, clusteredMax), ({ jobId, errors }) => {
      const last = errors.at(-1)
      return JSON.stringify([jobId, last?.type, last?.httpStatus, errorShape(last?.message ?? '')])
    })
    const clusters = [...groups.values()]
      .map(clusterOf)
      .toSorted((a, b) => b.count - a.count || b.newestAt - a.newestAt || compareText(a.jobId, b.jobId))
    return { clusters: clusters.slice(0, limit), complete: own.length <= clusteredMax }
  }

  async findDue(limit: number): Promise<{ tenantId: string; executionId: string }[]> {
    const now = this.#store.now()
    return [...this.#store.deadLetters.values()]
      .filter(({ tenantId }) => !this.#store.deletedTenants.has(tenantId))
      .filter(({ redriveAt }) => redriveAt !== null && redriveAt <= now)
      .toSorted((a, b) => a.redriveAt! - b.redriveAt! || compareText(a.executionId, b.executionId))
      .slice(0, limit)
      .map(({ tenantId, executionId }) => ({ tenantId, executionId }))
  }

  #find(tenantId: string, executionId: string): DeadLetterRow | null {
    const row = this.#store.deadLetters.get(executionId)
    return row?.tenantId === tenantId ? row : null
  }

  #enqueue(letter: DeadLetterRow, executionId: string, { lane, host }: Pick<LiveRow, 'lane' | 'host'>): void {
    const { jobId, tenantId, slot, idempotencyKey } = letter
    const job = this.#store.jobs.get(jobId)!
    const version = job.versions.get(job.version)!
    const priority = triggerPriority(version.priority)
    const now = this.#store.now()
    this.#store.addLive(
      makeLive({
        executionId,
        jobId,
        version: job.version,
        tenantId,
        kind: 'redrive',
        ...entryState(version, { isFree: false }),
        route: routeOf(version),
        lane,
        priority,
        slot,
        enqueuedAt: now,
        rank: rankOf(now, priority),
        ...('payload' in letter ? { payloadOverride: letter.payload } : {}),
        idempotencyKey,
        retryOf: letter.executionId,
        host,
      }),
    )
  }
}

function isWanted(letter: DeadLetterRow, { jobId, reason, errorType, from, to }: LetterFilter): boolean {
  return (
    (jobId === null || letter.jobId === jobId) &&
    (reason === null || letter.reason === reason) &&
    (errorType === null || letter.errors.at(-1)?.type === errorType) &&
    (from === null || letter.diedAt >= from) &&
    (to === null || letter.diedAt < to)
  )
}

const messageLengthMax = 500

/** Of letters that are in it, newest first. */
function clusterOf(letters: readonly DeadLetterRow[]): LetterCluster {
  const { jobId, jobName, errors } = letters[0]!
  const last = errors.at(-1)
  const died = letters.map(({ diedAt }) => diedAt).toSorted((a, b) => a - b)
  return {
    jobId,
    jobName,
    errorType: last?.type ?? null,
    message: last?.message?.slice(0, messageLengthMax) ?? null,
    httpStatus: last?.httpStatus ?? null,
    count: letters.length,
    oldestAt: died[0]!,
    newestAt: died.at(-1)!,
    executionIds: letters.slice(0, clusterSamplesMax).map(({ executionId }) => executionId),
  }
}

function letterOf(row: DeadLetterRow): DeadLetter {
  const { tenantId: _tenantId, idempotencyKey: _idempotencyKey, slot: _slot, payload, ...letter } = row
  return { ...letter, payload: payload === undefined ? null : JSON.stringify(payload) }
}
