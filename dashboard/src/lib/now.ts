// The time on the server, so that ages are right on a machine with a wrong clock; and one tick a second for everything
// on the page that shows an age.
import { useEffect, useState } from 'react'
import { createStore } from './store.ts'

let offsetMs = 0
const tick = createStore(0)
let timer: number | undefined
let users = 0

export function serverNow(): number {
  return Date.now() + offsetMs
}

/** Takes the time that the server reports; small differences are network delay, not a wrong clock. */
export function noteServerTime(instant: string): void {
  const difference = Date.parse(instant) - Date.now()
  if (!Number.isNaN(difference)) offsetMs = Math.abs(difference) < 2_000 ? 0 : difference
}

/** The server's time, again every second while the page is seen. */
export function useNow(): number {
  const [now, setNow] = useState(serverNow)
  useEffect(() => {
    const stop = tick.subscribe(() => setNow(serverNow()))
    users += 1
    timer ??= window.setInterval(() => {
      if (!document.hidden) tick.set(tick.get() + 1)
    }, 1_000)
    return () => {
      stop()
      users -= 1
      if (users > 0) return
      window.clearInterval(timer)
      timer = undefined
    }
  }, [])
  return now
}
