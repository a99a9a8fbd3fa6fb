// How fresh the page is: a dot, a word, and how far behind the server its figures are.
import { formatDuration } from '../lib/format.ts'
import { useNow } from '../lib/now.ts'
import { useStore } from '../lib/store.ts'
import { liveStatus } from '../live/live.ts'

/** Older than this is said to be old. */
const staleMs = 5_000

export function Freshness() {
  const { state, heardAtMs, pulse } = useStore(liveStatus)
  useNow()
  const ageMs = heardAtMs === null ? null : Math.max(0, Date.now() - heardAtMs)
  const isStale = state === 'live' && ageMs !== null && ageMs > staleMs
  const tone = state === 'live' && !isStale ? 'live' : state === 'paused' ? 'paused' : 'stale'
  const text =
    state === 'live' && !isStale
      ? `Live · ${formatDuration(pulse?.lag_ms ?? 0)} behind`
      : ageMs === null
        ? state === 'offline'
          ? 'Not live'
          : 'Connecting …'
        : `${state === 'paused' ? 'Paused' : 'Not live'} · ${formatDuration(ageMs)} old`
  return (
    <span
      className={`freshness freshness-${tone}`}
      title={pulse === null ? undefined : `Figures as of ${pulse.as_of}`}
    >
      <span className="dot" aria-hidden="true" />
      {text}
    </span>
  )
}
