// What an earlier version writes does not name its graph run, because it does not know the column. The run knows its
// executions all the same: while an earlier version was among the servers, and only then, the run's word counts.
import type { Evidence } from './check-evidence.ts'

/** Of a fault that is written down when it is over: what was under way is recorded a moment later. */
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
