// A root that fired into a run of which it is no node, in memory: it gets a run of its own.
import type { RunNoteRow } from './rows.ts'
import type { MemoryStore } from './store.ts'

/** Moves a root with all the notes on it. If its job is no longer in a graph, it runs alone. */
export function moveRoot(
  store: MemoryStore,
  { runId, jobId, executionId }: RunNoteRow,
  notes: readonly RunNoteRow[],
): void {
  store.deleteRunRoot({ jobId, runId, executionId })
  const isInGraph = store.jobs.get(jobId)!.cursor.graphId !== null
  const own = isInGraph && runId !== executionId ? executionId : null
  const rows = [store.live.get(executionId), store.deadLetters.get(executionId), ...store.log.of(executionId)]
  for (const row of rows) if (row !== undefined) row.runId = own
  if (own === null) return
  store.addRunRoot({ jobId, runId: own, executionId, operationId: null })
  for (const note of notes) if (note.executionId === executionId) store.addRunNote({ ...note, runId: own })
}
