// The real timers. Waiting never keeps the process alive on its own account longer than asked.
import type { Timer, Timers } from '../../ports/timers.ts'

export const realTimers: Timers = {
  wait(ms, signal) {
    if (signal?.aborted) return Promise.resolve()
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timeout)
        signal?.removeEventListener('abort', done)
        resolve()
      }
      const timeout = setTimeout(done, ms)
      signal?.addEventListener('abort', done)
    })
  },

  schedule(ms, callback): Timer {
    // A timeout of 0 would be one of a millisecond.
    if (ms <= 0) {
      const immediate = setImmediate(callback)
      return { cancel: () => clearImmediate(immediate) }
    }
    const timeout = setTimeout(callback, ms)
    return { cancel: () => clearTimeout(timeout) }
  },
}
