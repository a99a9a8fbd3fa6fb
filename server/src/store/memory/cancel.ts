// Executions that end before they run, in memory: they leave batch or `live`, and their record says why.
import { executionIdAt } from '../../domain/execution.ts'
import { leaveBatch, recordAttempt } from './record-attempt.ts'
import type { BatchEntry, BatchRow, JobRow, LiveRow } from './rows.ts'
import type { MemoryStore } from './store.ts'

/** Every execution of the job that is not running. */
export function cancelPending(store: MemoryStore, { jobId, live }: JobRow, message: string): void {
  for (const batch of [...store.batches.values()].filter(({ workerId }) => workerId === null)) {
    const own = batch.entries.filter((entry) => entry.jobId === jobId)
    for (const entry of own) cancelInBatch(store, batch, entry, message)
  }
  for (const row of [...live].filter(({ state }) => state !== 'running')) cancelLive(store, row, message)
}

/** The batch is not claimed. */
export function cancelInBatch(store: MemoryStore, batch: BatchRow, entry: BatchEntry, message: string): void {
  batch.entries = batch.entries.filter((other) => other !== entry)
  if (batch.entries.length === 0) store.deleteBatch(batch)
  record(store, leaveBatch(store, batch, entry), message)
}

/** It is not running. */
export function cancelLive(store: MemoryStore, row: LiveRow, message: string): void {
  store.deleteLive(row)
  record(store, row, message)
}

export function findInBatch(batch: BatchRow, executionId: string): BatchEntry | undefined {
  return batch.entries.find(({ position }) => executionIdAt(batch.batchId, position) === executionId)
}

function record(store: MemoryStore, row: LiveRow, message: string): void {
  recordAttempt(store, row, null, {
    outcome: 'cancelled',
    startedAt: null,
    finishedAt: store.now(),
    durationMs: null,
    httpStatus: null,
    error: { type: 'CANCELLED', message },
    preview: null,
    final: true,
    deadReason: null,
  })
}
