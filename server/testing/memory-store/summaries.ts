// Executions of some jobs in memory: the ones that have not ended, and the recorded ends that history still keeps.
import type { ExecutionSummary } from '../../src/ports/executions.ts'
import { summaryOfEntry, summaryOfFinal, summaryOfLive } from './execution-summary.ts'
import type { AttemptRow, JobRow } from './rows.ts'
import type { MemoryStore } from './store.ts'

export function summariesUnderWay(store: MemoryStore, jobs: ReadonlyMap<string, JobRow>): ExecutionSummary[] {
  const batched = [...store.batches.values()].flatMap((batch) =>
    batch.entries.filter(({ jobId }) => jobs.has(jobId)).map((entry) => summaryOfEntry(store, batch, entry)),
  )
  const live = [...jobs.values()].flatMap((job) => [...job.live])
  return [...batched, ...live.map((row) => summaryOfLive(store, row))]
}

export function summariesEnded(store: MemoryStore, jobs: ReadonlyMap<string, JobRow>): ExecutionSummary[] {
  return [...jobs.values()].flatMap((job) => finalsOf(store, job).map((row) => summaryOfFinal(store, row)))
}

/** How its executions ended, as far as history is kept. */
export function finalsOf(store: MemoryStore, job: JobRow): AttemptRow[] {
  const from = store.retainedFrom()
  const finals = [...job.ended].map((executionId) => store.log.of(executionId).at(-1)!)
  return finals.filter(({ recordedAt }) => recordedAt >= from)
}
