// The log of an execution as it grows. The cursor of the API keeps it complete: the live stream only says that there is
// more, so a line is never missing and never there twice.
import type { LogList } from '@carillon/contract/worker.ts'
import { useEffect, useRef, useState } from 'react'
import { api } from '../../api/client.ts'
import { useStore } from '../../lib/store.ts'
import { useLive } from '../../live/hooks.ts'
import { liveStatus } from '../../live/live.ts'
import type { Line } from './log-search.ts'

/** Lines that are kept; the oldest go first. */
export const linesMax = 20_000
const pageLines = 1_000
const askAgainMs = 2_000
const askRarelyMs = 10_000

export function useLogLines(executionId: string, isEnded: boolean) {
  const [lines, setLines] = useState<readonly Line[]>([])
  const [error, setError] = useState<unknown>(null)
  const [isRead, setRead] = useState(false)
  const ask = useRef<() => void>(() => undefined)
  const isLive = useStore(liveStatus).state === 'live'

  useEffect(() => {
    const abort = new AbortController()
    let cursor: string | null = null
    let isAsking = false
    let again = false
    let isOver = false
    setLines([])
    setRead(false)
    const read = async () => {
      if (isOver || abort.signal.aborted) return
      if (isAsking) {
        again = true
        return
      }
      isAsking = true
      try {
        let page: LogList
        do {
          again = false
          page = await api.get<LogList>(`/executions/${executionId}/logs`, {
            query: { limit: pageLines, cursor },
            signal: abort.signal,
          })
          cursor = page.next_cursor ?? cursor
          isOver = page.next_cursor === null
          const added = page.logs
          if (added.length > 0) setLines((before) => [...before, ...added].slice(-linesMax))
        } while (!isOver && (again || page.logs.length > 0))
        setError(null)
        setRead(true)
      } catch (caught) {
        if (!abort.signal.aborted) setError(caught)
      } finally {
        isAsking = false
      }
    }
    ask.current = () => void read()
    void read()
    return () => abort.abort()
  }, [executionId])

  useLive('log', () => ask.current())
  // biome-ignore lint/correctness/useExhaustiveDependencies: when it ends the rest is read
  useEffect(() => ask.current(), [isEnded])
  useEffect(() => {
    if (isEnded) return
    const timer = window.setInterval(
      () => {
        if (!document.hidden) ask.current()
      },
      isLive ? askRarelyMs : askAgainMs,
    )
    return () => window.clearInterval(timer)
  }, [isEnded, isLive])
  return { lines, error, isRead }
}
