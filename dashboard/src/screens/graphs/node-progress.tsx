// How far the nodes of a run are: a bar by status, and the same in words.
import { statusColour } from '../../components/status.tsx'
import { Elapsed } from '../../components/time.tsx'
import { formatCount, formatDuration, words } from '../../lib/format.ts'
import { inProgressOrder, progressText } from './progress.ts'
import './graphs.css'

interface NodeProgressProps {
  counts: Readonly<Record<string, number>>
  /** Shows the words, instead of only announcing them to people unable to see the bar. */
  withWords?: boolean
}

export function NodeProgress({ counts, withWords = false }: NodeProgressProps) {
  const parts = inProgressOrder(counts)
  const total = parts.reduce((sum, { count }) => sum + count, 0)
  return (
    <span className="node-progress" title={progressText(counts)}>
      <span className="node-bar" aria-hidden="true">
        {parts.map(({ status, count }) => (
          <span
            key={status}
            data-status={status}
            style={{ flexGrow: count, background: status === 'SKIPPED' ? undefined : statusColour(status) }}
          />
        ))}
      </span>
      {withWords ? (
        <span>
          {parts.map(({ status, count }) => `${formatCount(count)} ${words(status)}`).join(', ') || 'none'}
        </span>
      ) : (
        <>
          <span className="number" aria-hidden="true">
            {formatCount(parts.filter(({ isEnded }) => isEnded).reduce((sum, { count }) => sum + count, 0))}/
            {formatCount(total)}
          </span>
          <span className="unseen">{progressText(counts)}</span>
        </>
      )}
    </span>
  )
}

/** How long a run took, or has been going on. */
export function RunTook({ run }: { run: { created_at: string; finished_at: string | null } }) {
  if (run.finished_at === null) return <Elapsed since={run.created_at} />
  return formatDuration(Date.parse(run.finished_at) - Date.parse(run.created_at))
}
