// Processes with the role `history`, in memory.
import type { HistoryProcesses } from '../../src/ports/history-processes.ts'
import type { MemoryStore } from './store.ts'

/** The row of a process that died goes with the beat of another one. */
const deadMs = 3_600_000

export class MemoryHistoryProcesses implements HistoryProcesses {
  readonly #store: MemoryStore

  constructor(store: MemoryStore) {
    this.#store = store
  }

  async beat(processId: string): Promise<void> {
    const { historyBeats } = this.#store
    const now = this.#store.now()
    for (const [other, beatAt] of historyBeats) if (beatAt < now - deadMs) historyBeats.delete(other)
    historyBeats.set(processId, now)
  }

  async leave(processId: string): Promise<void> {
    this.#store.historyBeats.delete(processId)
  }

  async list(termMs: number): Promise<string[]> {
    const from = this.#store.now() - termMs
    const alive = [...this.#store.historyBeats].filter(([, beatAt]) => beatAt > from)
    return alive.map(([processId]) => processId).toSorted()
  }
}
