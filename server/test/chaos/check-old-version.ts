// An earlier version does not name the graph run in the rows it writes, because it does not know the column. The run
// still knows its executions: while an earlier version was among the servers, and only then, the record of the run
// counts.
import type { Evidence } from './check-evidence.ts'

/** Margin after a fault that is recorded once it is over: writes that were under way are recorded a moment later. */
const marginMs = 2_000

export function nameRuns(evidence: Evidence): Evidence {
  const spans = evidence.faults
    .filter(({ kind }) => kind === 'old-version')
    .map(({ at, until }) => ({ from: at, to: (until ?? at) + marginMs }))
  if (spans.length === 0) return evidence
  const runOf = new Map(
    evidence.graphRuns.flatMap(({ runId, executionIds }) =>
      executionIds.flatMap((id) => (id === null ? [] : [[id, runId] as const])),
    ),
  )
  const attempts = evidence.attempts.map((row) => {
    const isOld = spans.some(({ from, to }) => row.recordedAt >= from && row.recordedAt <= to)
    return row.runId === null && isOld ? { ...row, runId: runOf.get(row.executionId) ?? null } : row
  })
  return { ...evidence, attempts }
}
