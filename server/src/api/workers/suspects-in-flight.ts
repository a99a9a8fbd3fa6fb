// Tracks which worker has a suspect in flight, an execution that may have killed the worker before it: a worker gets
// one suspect at a time. This process remembers the suspects it handed out, and asks the store whether they are over; a
// worker that asks two processes by turns may get two, and no more.
import type { Attempts } from '../../ports/attempts.ts'

const workersMax = 10_000
/** Its claim is under way. */
const reserved = ''

export class SuspectsInFlight {
  readonly #attempts: Pick<Attempts, 'find'>
  /** By worker; the worker that got a suspect longest ago is first. */
  readonly #executions = new Map<string, string>()

  constructor(attempts: Pick<Attempts, 'find'>) {
    this.#attempts = attempts
  }

  /** Whether this worker may have one now; then `keep` must follow. */
  async reserve(workerId: string): Promise<boolean> {
    const before = this.#executions.get(workerId)
    if (before === reserved) return false
    this.#set(workerId, reserved)
    if (before === undefined) return true
    try {
      const [held] = await this.#attempts.find([before])
      if (held?.workerId !== workerId) return true
    } catch (error) {
      this.#set(workerId, before)
      throw error
    }
    this.#set(workerId, before)
    return false
  }

  /** Null: it got none. */
  keep(workerId: string, executionId: string | null): void {
    if (executionId === null) this.#executions.delete(workerId)
    else this.#set(workerId, executionId)
  }

  #set(workerId: string, executionId: string): void {
    this.#executions.delete(workerId)
    if (this.#executions.size >= workersMax) this.#executions.delete(this.#executions.keys().next().value!)
    this.#executions.set(workerId, executionId)
  }
}
