// How long it took, as a bar beside the longest of the rows that are seen. The scale is logarithmic: a bar of 20 ms
// and one of 20 minutes are both there to be seen.
import { statusColour } from '../../components/status.tsx'
import { Duration, Elapsed } from '../../components/time.tsx'
import type { Row } from './live-rows.ts'

export function DurationBar({ row, longestMs }: { row: Row; longestMs: number }) {
  const { status, duration_ms: durationMs, started_at: startedAt } = row
  if (durationMs === null) {
    return status === 'RUNNING' && startedAt !== null ? (
      <Elapsed since={startedAt} />
    ) : (
      <span className="dim">–</span>
    )
  }
  const share = Math.log1p(durationMs) / Math.log1p(Math.max(longestMs, 1))
  return (
    <span className="duration-bar">
      <span className="duration-track" aria-hidden="true">
        <span style={{ width: `${Math.max(2, share * 100)}%`, background: statusColour(status) }} />
      </span>
      <Duration ms={durationMs} />
    </span>
  )
}
