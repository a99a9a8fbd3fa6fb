// Said while the results of jobs are behind: after an upgrade, or when the fold that counts them is stuck.
import { formatTime } from '../lib/format.ts'
import { useNow } from '../lib/now.ts'
import { timeMode } from '../lib/preferences.ts'
import { useStore } from '../lib/store.ts'

const behindMs = 60_000

/** Whether executions that ended a while ago may be missing from the results. */
export function useAreResultsBehind(asOf: string | undefined): boolean {
  const now = useNow()
  return asOf !== undefined && now - Date.parse(asOf) > behindMs
}

export function ResultsAsOf({ asOf }: { asOf: string | undefined }) {
  const mode = useStore(timeMode)
  const now = useNow()
  if (!useAreResultsBehind(asOf)) return null
  return (
    <p className="results-as-of" role="status">
      The results of jobs are as of {formatTime(asOf!, mode === 'UTC' ? 'UTC' : 'local', now)}: newer
      executions are not counted yet.
    </p>
  )
}
