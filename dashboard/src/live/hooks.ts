// The live stream from components.
import { useEffect, useRef } from 'react'
import { useInvalidate } from '../api/hooks.ts'
import { type LiveEvents, onLive, watchExecution } from './live.ts'

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
 * Refetches queries with a path under `prefixes` when such an event comes, at most once in `everyMs`: a busy server
 * must not be asked for a list with every execution.
 */
export function useLiveRefresh(
  types: readonly (keyof LiveEvents)[],
  prefixes: readonly string[],
  everyMs = 3_000,
): void {
  const invalidate = useInvalidate()
  useLiveSometimes(types, () => void invalidate(...prefixes), everyMs)
}

/** The health of a job is there so long after the end of an execution. */
const healthLagMs = 4_000

/** Refetches lists of jobs by health when something ended, and again when the health must have followed. */
export function useHealthRefresh(prefixes: readonly string[], everyMs = 5_000): void {
  const invalidate = useInvalidate()
  const again = useRef<number>(undefined)
  const refresh = () => {
    if (!document.hidden) void invalidate(...prefixes)
  }
  useLiveSometimes(
    ['jobs', 'executions'],
    () => {
      refresh()
      window.clearTimeout(again.current)
      again.current = window.setTimeout(refresh, healthLagMs)
    },
    everyMs,
  )
  useEffect(() => () => window.clearTimeout(again.current), [])
}

/** Runs when such an event comes and the page is seen, at most once in `everyMs`. */
export function useLiveSometimes(
  types: readonly (keyof LiveEvents)[],
  run: () => void,
  everyMs: number,
): void {
  const latest = useRef({ types, run })
  latest.current = { types, run }
  useEffect(() => {
    let timer: number | undefined
    let lastMs = 0
    const soon = () => {
      timer ??= window.setTimeout(
        () => {
          timer = undefined
          lastMs = Date.now()
          if (!document.hidden) latest.current.run()
        },
        Math.max(100, lastMs + everyMs - Date.now()),
      )
    }
    const stops = (['reset', ...latest.current.types] as const).map((type) => onLive(type, soon))
    return () => {
      window.clearTimeout(timer)
      for (const stop of stops) stop()
    }
  }, [everyMs])
}

/** Subscribes to the events of a single execution (`execution`) and of its log (`log`). */
export function useWatch(executionId: string): void {
  useEffect(() => {
    watchExecution(executionId)
    return () => watchExecution(null)
  }, [executionId])
}
