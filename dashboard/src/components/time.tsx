// An instant in the way the person chose (relative, local, UTC), its exact form on hover; and durations.
import { formatDuration, formatExact, formatTime } from '../lib/format.ts'
import { useNow } from '../lib/now.ts'
import { timeMode } from '../lib/preferences.ts'
import { useStore } from '../lib/store.ts'

export function Time({ at, missing = '–' }: { at: string | null | undefined; missing?: string }) {
  const mode = useStore(timeMode)
  const now = useNow()
  if (at === null || at === undefined) return <span className="dim">{missing}</span>
  return (
    <time dateTime={at} title={`${formatExact(at, 'UTC')}\n${formatExact(at, 'local')} here`}>
      {formatTime(at, mode, now)}
    </time>
  )
}

export function Duration({ ms }: { ms: number | null | undefined }) {
  return <span className="number">{formatDuration(ms)}</span>
}

/** How long something has been going on, counted every second. */
export function Elapsed({ since }: { since: string }) {
  const now = useNow()
  return <span className="number">{formatDuration(Math.max(0, now - Date.parse(since)))}</span>
}
