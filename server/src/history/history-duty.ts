// Which process folds and prunes history: every process with the role `history`, and a scheduler only while no such
// process is alive. Decided by liveness alone: two processes that fold at once are safe, because each step is one
// transaction that moves its mark.
import { historyBeatMs, historyTermMs } from '../domain/history/history-process.ts'
import type { Step } from '../lib/loop.ts'
import type { HistoryProcesses } from '../ports/history-processes.ts'

export const historyDutyEveryMs = historyBeatMs

export interface HistoryDutyOptions {
  processId: string
  /** Whether this process has the role `history`; otherwise it is a scheduler that stands in. */
  hasRole: boolean
}

export class HistoryDuty {
  readonly #processes: HistoryProcesses
  readonly #processId: string
  readonly #hasRole: boolean
  #isOnDuty: boolean

  constructor(processes: HistoryProcesses, { processId, hasRole }: HistoryDutyOptions) {
    this.#processes = processes
    this.#processId = processId
    this.#hasRole = hasRole
    // A scheduler begins once it has looked.
    this.#isOnDuty = hasRole
  }

  /** Whether this process is to fold and prune. */
  get isOnDuty(): boolean {
    return this.#isOnDuty
  }

  /** With the role: says that this process is alive. Without: looks whether a process with the role is. */
  async step(): Promise<'idle'> {
    if (this.#hasRole) await this.#processes.beat(this.#processId)
    else this.#isOnDuty = (await this.#processes.list(historyTermMs)).length === 0
    return 'idle'
  }

  /** The step, which does nothing while another process is on duty. */
  guard(step: Step): Step {
    return async (signal) => (this.#isOnDuty ? step(signal) : 'idle')
  }

  /** Others need not wait for the term to end. */
  async leave(): Promise<void> {
    if (this.#hasRole) await this.#processes.leave(this.#processId)
  }
}
