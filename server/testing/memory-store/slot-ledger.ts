// The slots of a job and their records, in memory.
import type { SkippedRange } from '../../src/domain/jobs/job-change.ts'
import type { EpochMs } from '../../src/lib/time/epoch.ts'
import { type ExecutionSummary, totalMax } from '../../src/ports/executions.ts'
import type {
  SkipRange,
  SlotBounds,
  SlotCount,
  SlotLedger,
  SlotPage,
  SlotQuery,
} from '../../src/ports/slot-ledger.ts'
import type { JobRow } from './rows.ts'
import type { MemoryStore } from './store.ts'
import { summariesEnded, summariesUnderWay } from './summaries.ts'
import { owedOf } from './under-way.ts'

export class MemorySlotLedger implements SlotLedger {
  readonly #store: MemoryStore

  constructor(store: MemoryStore) {
    this.#store = store
  }

  async listSkips(query: SlotQuery): Promise<SkipRange[] | null> {
    const job = this.#store.findJob(query.tenantId, query.jobId)
    if (job === null) return null
    const touching = job.skips.filter(({ from, to }) => from <= query.to && to >= query.from)
    const ordered = query.order === 'asc' ? touching : touching.toReversed()
    return ordered.slice(0, query.limit).map((range) => skipRangeOf(job, range))
  }

  async listSlots(query: SlotQuery): Promise<SlotPage | null> {
    const { tenantId, jobId, limit, order } = query
    const job = this.#store.findJob(tenantId, jobId)
    if (job === null) return null
    const found = this.#slotsOf(job, query)
    const executions = (order === 'asc' ? found : found.toReversed()).slice(0, limit)
    return {
      executions: executions.map(({ slot, executionId, status }) => ({ slot, executionId, status })),
      end: executions.length === limit ? executions.at(-1)!.slot : null,
      recordedAt: job.latest?.slot ?? null,
      owed: owedOf(job),
    }
  }

  async countSlots(query: SlotBounds): Promise<SlotCount | null> {
    const { tenantId, jobId, from, to } = query
    const job = this.#store.findJob(tenantId, jobId)
    if (job === null) return null
    const executions = this.#slotsOf(job, query).length
    const touching = job.skips.filter((range) => range.from <= to && range.to >= from)
    const isWhole = (range: SkippedRange) => range.from >= from && range.to <= to
    const skipped = touching.filter(isWhole).reduce((sum, { count }) => sum + count, 0)
    const edges = touching.filter((range) => !isWhole(range)).map((range) => skipRangeOf(job, range))
    return { executions, skipped, capped: executions > totalMax || skipped > totalMax, edges }
  }

  /** Executions of its slots, by slot. */
  #slotsOf(job: JobRow, { from, to }: { from: EpochMs; to: EpochMs }): ExecutionSummary[] {
    const jobs = new Map([[job.jobId, job]])
    return [...summariesUnderWay(this.#store, jobs), ...summariesEnded(this.#store, jobs)]
      .filter(({ kind, slot }) => kind === 'slot' && slot >= from && slot <= to)
      .toSorted((a, b) => a.slot - b.slot)
  }
}

function skipRangeOf(job: JobRow, range: SkippedRange): SkipRange {
  const { schedule, anchorAt } = job.versions.get(range.version)!
  return { ...range, pause: range.pause ?? null, schedule, anchorAt }
}
