// Executions that wait for one host, first come first. To take the first out costs the same however many wait; of an
// array with `shift` all the others would be copied each time.
import type { HeldExecution } from './held-execution.ts'

/** Positions before the first waiting execution that may be empty before the array is made shorter. */
const emptyMax = 256

export class HostQueue {
  #executions: HeldExecution[]
  /** The position of the first execution that waits; the ones before it have started. */
  #from = 0

  constructor(first: HeldExecution) {
    this.#executions = [first]
  }

  get size(): number {
    return this.#executions.length - this.#from
  }

  waiting(): HeldExecution[] {
    return this.#executions.slice(this.#from)
  }

  push(held: HeldExecution): void {
    this.#executions.push(held)
  }

  /** Only while the queue is not empty. */
  shift(): HeldExecution {
    const held = this.#executions[this.#from++]!
    if (this.#from >= emptyMax && this.#from * 2 >= this.#executions.length) {
      this.#executions = this.waiting()
      this.#from = 0
    }
    return held
  }

  remove(held: HeldExecution): void {
    this.#executions = this.waiting().filter((other) => other !== held)
    this.#from = 0
  }
}
