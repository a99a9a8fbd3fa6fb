// Checks the memory and CPU time of process groups twice a second while there are any. The callback that receives a
// breach ends the group. A group may exceed its limit between two checks.
import { readGroupUse } from '../../lib/process-groups.ts'
import type { Timers } from '../../ports/timers.ts'

export interface GroupLimits {
  memoryBytesMax: number
  cpuSecondsMax: number
}

export type Breach = 'memory' | 'cpu'

interface Watched extends GroupLimits {
  group: number
  onBreach: (breach: Breach) => void
}

const lookEveryMs = 500

export class GroupWatch {
  readonly #timers: Timers
  readonly #watched = new Set<Watched>()
  #looking = false

  constructor(timers: Timers) {
    this.#timers = timers
  }

  add(group: number, limits: GroupLimits, onBreach: (breach: Breach) => void): Disposable {
    const one = { group, ...limits, onBreach }
    this.#watched.add(one)
    if (!this.#looking) void this.#keepLooking()
    return { [Symbol.dispose]: () => void this.#watched.delete(one) }
  }

  async #keepLooking(): Promise<void> {
    this.#looking = true
    while (this.#watched.size > 0) {
      await this.#timers.wait(lookEveryMs)
      this.#look()
    }
    this.#looking = false
  }

  #look(): void {
    const uses = readGroupUse(new Set([...this.#watched].map(({ group }) => group)))
    for (const { group, memoryBytesMax, cpuSecondsMax, onBreach } of this.#watched) {
      const use = uses?.get(group)
      if (use === undefined) continue
      if (use.memoryBytes > memoryBytesMax) onBreach('memory')
      else if (use.cpuSeconds > cpuSecondsMax) onBreach('cpu')
    }
  }
}
