// When a schedule would run, asked of the server. The same question is not asked twice, and not while somebody types.
import type { SchedulePreviewReply, SchedulePreviewRequest } from '@carillon/contract/schedule.ts'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { api } from '../../api/client.ts'
import { serverNow } from '../../lib/now.ts'

const typingMs = 350

/** `null`: there is nothing to ask. */
export function usePreview(request: SchedulePreviewRequest | null, { isTyped = false } = {}) {
  const text = request === null ? '' : JSON.stringify(request)
  const asked = useSettled(text, isTyped ? typingMs : 0)
  const found = useQuery({
    queryKey: ['/schedules/preview', asked],
    queryFn: ({ signal }) =>
      api.post<SchedulePreviewReply>('/schedules/preview', JSON.parse(asked), { signal }),
    enabled: asked !== '',
    staleTime: 30_000,
    refetchOnWindowFocus: false,
    refetchInterval: ({ state }) => (isTyped ? false : untilThirdMs(state.data)),
    ...(isTyped && { placeholderData: keepPreviousData }),
  })
  return { ...found, isSettled: asked === text }
}

// Slots go by; they are asked for again when a few have.
function untilThirdMs(preview: SchedulePreviewReply | undefined): number | false {
  const third = preview?.next[2]
  if (third === undefined) return false
  return Math.min(600_000, Math.max(10_000, Date.parse(third.at) - serverNow()))
}

/** The value once it has been the same for so long. */
function useSettled(value: string, ms: number): string {
  const [settled, setSettled] = useState(value)
  useEffect(() => {
    const timer = window.setTimeout(() => setSettled(value), ms)
    return () => window.clearTimeout(timer)
  }, [value, ms])
  return ms === 0 ? value : settled
}
