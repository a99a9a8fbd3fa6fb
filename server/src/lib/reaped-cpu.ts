// CPU time of children of this process that have ended, with that of their own children that they waited for. Linux adds
// it up for us at the end of each child, so a sum that grew while one child ended is that child's.
import { readFileSync } from 'node:fs'
import type { Timers } from '../ports/timers.ts'

/** As Linux counts it for programs, on every machine. */
const msPerTick = 10

export class ReapedCpu {
  #knownMs = readChildrenMs()
  #ended: ((cpuMs: number | null) => void)[] = []

  /** For the `exit` event of a child. Null: not known, as when two children end at once. */
  take(timers: Timers): Promise<number | null> {
    return new Promise((resolve) => {
      this.#ended.push(resolve)
      // All that ended at once are told of before this.
      if (this.#ended.length === 1) timers.schedule(0, () => this.#share())
    })
  }

  #share(): void {
    const ended = this.#ended
    this.#ended = []
    const beforeMs = this.#knownMs
    this.#knownMs = readChildrenMs()
    const isKnown = ended.length === 1 && beforeMs !== null && this.#knownMs !== null
    for (const resolve of ended) resolve(isKnown ? this.#knownMs! - beforeMs! : null)
  }
}

function readChildrenMs(): number | null {
  try {
    const stat = readFileSync('/proc/self/stat', 'latin1')
    // The name of the program stands in parentheses and may have any character in it.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return (Number(fields[13]) + Number(fields[14])) * msPerTick
  } catch {
    return null
  }
}
