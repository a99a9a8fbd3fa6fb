// An instant of the past as a clock has it, and how long that is: "17:20 (6 h)".
import { formatExact, formatRelative, formatTime } from '../../lib/format.ts'
import { useNow } from '../../lib/now.ts'
import { timeMode } from '../../lib/preferences.ts'
import { useStore } from '../../lib/store.ts'

export function Since({ at }: { at: string }) {
  const mode = useStore(timeMode)
  const now = useNow()
  const clock = formatTime(at, mode === 'UTC' ? 'UTC' : 'local', now).replace(/:\d\d(?=Z?$)/, '')
  return (
    <time dateTime={at} title={`${formatExact(at, 'UTC')}\n${formatExact(at, 'local')} here`}>
      {clock} <span className="dim">({formatRelative(Date.parse(at), now).replace(/ ago$/, '')})</span>
    </time>
  )
}
