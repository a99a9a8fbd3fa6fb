// Processes with the role api, in memory.

import type { EpochMs } from '../../src/lib/time/epoch.ts'
import { type ApiProcess, type ApiProcesses, reportedTenantsMax } from '../../src/ports/api-processes.ts'
import { compareText } from './sorted-set.ts'
import type { MemoryStore } from './store.ts'

export interface ApiProcessRow extends ApiProcess {
  beatAt: EpochMs
}

/** The row of a process that died goes with the report of another one. */
const deadMs = 3_600_000

export class MemoryApiProcesses implements ApiProcesses {
  readonly #store: MemoryStore

  constructor(store: MemoryStore) {
    this.#store = store
  }

  async report({ processId, rates }: ApiProcess, termMs: number): Promise<ApiProcess[]> {
    const { apiProcesses } = this.#store
    const now = this.#store.now()
    for (const { processId: other, beatAt } of apiProcesses.values())
      if (beatAt < now - deadMs) apiProcesses.delete(other)
    const reported = new Map([...rates].slice(0, reportedTenantsMax))
    apiProcesses.set(processId, { processId, rates: reported, beatAt: now })
    return [...apiProcesses.values()]
      .filter((one) => one.processId !== processId && one.beatAt > now - termMs)
      .map((one) => ({ processId: one.processId, rates: one.rates }))
      .toSorted((a, b) => compareText(a.processId, b.processId))
  }

  async leave(processId: string): Promise<void> {
    this.#store.apiProcesses.delete(processId)
  }
}
