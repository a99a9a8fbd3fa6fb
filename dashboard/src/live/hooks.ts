// The live stream from components.
import { useEffect, useRef } from 'react'
import { useInvalidate } from '../api/hooks.ts'
import { type LiveEvents, type LogLine, onLive, watchExecution } from './live.ts'

/** Calls `handler` for every such event while the component is there. */
export function useLive<Type extends keyof LiveEvents>(
  type: Type,
  handler: (event: LiveEvents[Type]) => void,
): void {
  const latest = useRef(handler)
  latest.current = handler
  useEffect(() => onLive(type, (event) => latest.current(event)), [type])
}

/**
 * Asks again for what begins with `prefixes` when such an event comes, at most once in `everyMs`: a busy server must
 * not be asked for a list with every execution.
 */
export function useLiveRefresh(
  types: readonly (keyof LiveEvents)[],
  prefixes: readonly string[],
  everyMs = 3_000,
): void {
  const invalidate = useInvalidate()
  const wanted = useRef({ types, prefixes })
  wanted.current = { types, prefixes }
  useEffect(() => {
    let timer: number | undefined
    let lastMs = 0
    const refresh = () => {
      timer ??= window.setTimeout(
        () => {
          timer = undefined
          lastMs = Date.now()
          if (!document.hidden) void invalidate(...wanted.current.prefixes)
        },
        Math.max(100, lastMs + everyMs - Date.now()),
      )
    }
    const stops = (['reset', ...wanted.current.types] as const).map((type) => onLive(type, refresh))
    return () => {
      window.clearTimeout(timer)
      for (const stop of stops) stop()
    }
  }, [invalidate, everyMs])
}

/** Has the stream tell of one execution and its log. */
export function useWatch(executionId: string, onLog: (lines: LogLine[]) => void): void {
  useEffect(() => {
    watchExecution(executionId)
    return () => watchExecution(null)
  }, [executionId])
  useLive('log', ({ lines }) => onLog(lines))
}
