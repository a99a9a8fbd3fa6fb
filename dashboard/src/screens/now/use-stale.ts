// Whether the figures of the screen are old because the server does not answer. Nothing old may reassure anybody.
import { useRef } from 'react'
import { useNow } from '../../lib/now.ts'
import { useStore } from '../../lib/store.ts'
import { liveStatus } from '../../live/live.ts'

/** The stream says something every second. */
const silentMsMax = 5_000

interface Asked {
  error: unknown
  dataUpdatedAt: number
}

/** The time of the oldest of the answers, if the server has gone; null: it is there. */
export function useStaleSince(asked: readonly Asked[]): number | null {
  const { state, heardAtMs } = useStore(liveStatus)
  useNow()
  const isSilent = state !== 'paused' && heardAtMs !== null && Date.now() - heardAtMs > silentMsMax
  if (!isSilent && asked.every(({ error }) => error === null)) return null
  const times = asked.map(({ dataUpdatedAt }) => dataUpdatedAt).filter((at) => at > 0)
  return times.length === 0 ? null : Math.min(...times)
}

/** The last answer there was: a question that is asked anew every minute keeps the one of the minute before. */
export function useLast<Answer>(answer: Answer | undefined): Answer | undefined {
  const last = useRef(answer)
  if (answer !== undefined) last.current = answer
  return last.current
}
