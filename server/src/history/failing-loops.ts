// Which of a set of loops fail again and again, for /readyz. One failed step says little: a lock or a timeout passes.
import type { Step } from '../lib/loop.ts'

const failuresMin = 3

export class FailingLoops {
  readonly #failures = new Map<string, { count: number; message: string }>()

  /** The step, with its failures in a row counted under the name of its loop. */
  watch(loop: string, step: Step): Step {
    return async (signal) => {
      try {
        const more = await step(signal)
        this.#failures.delete(loop)
        return more
      } catch (error) {
        const count = (this.#failures.get(loop)?.count ?? 0) + 1
        this.#failures.set(loop, { count, message: (error as Error).message })
        throw error
      }
    }
  }

  /** 'ok', or the loops that failed three times in a row or more, with the last error of the first of them. */
  check(): string {
    const failing = [...this.#failures].filter(([, { count }]) => count >= failuresMin)
    if (failing.length === 0) return 'ok'
    const names = failing.map(([loop]) => loop).join(', ')
    return `failing: ${names}: ${failing[0]![1].message}`
  }
}
