// A worker's right to act: registered under a fresh id, kept by a beat every few seconds, given back at the end.
// A worker that finds itself declared dead goes on as a new incarnation; what the old one held is not its own.
import { hostname } from 'node:os'
import type { WorkerStatus } from '../domain/worker.ts'
import type { Ids } from '../ports/ids.ts'
import type { Leases } from '../ports/leases.ts'
import { workerLeaseLost, workerRegistered } from '../telemetry/events.ts'

export interface LeaseDeps {
  leases: Leases
  ids: Ids
}

export interface LeaseOptions {
  version: string
  labels: readonly string[]
  /** Executions run at once, at most. */
  capacity: number
}

export class WorkerLease {
  readonly #deps: LeaseDeps
  readonly #options: LeaseOptions
  #workerId: string
  #registered = false
  #status: WorkerStatus = 'ACTIVE'

  constructor(deps: LeaseDeps, options: LeaseOptions) {
    this.#deps = deps
    this.#options = options
    this.#workerId = deps.ids.next()
  }

  /** One beat; the first one registers. A step for a Loop. */
  async beat(): Promise<'idle' | 'more'> {
    const workerId = this.#workerId
    if (!this.#registered) {
      // The same id until it is known to be registered: a lost reply must not leave a ghost behind.
      await this.#deps.leases.register({ workerId, host: hostname(), ...this.#options })
      this.#registered = true
      workerRegistered.emit({ workerId })
    }
    const held = await this.#deps.leases.beat(workerId, { status: this.#status, currentLoad: 0 })
    if (held === 'held') return 'idle'
    workerLeaseLost.emit({ workerId })
    this.#workerId = this.#deps.ids.next()
    this.#registered = false
    return 'more'
  }

  /** Says to others that no more work is taken. */
  async drain(): Promise<void> {
    this.#status = 'DRAINING'
    if (this.#registered) await this.beat()
  }

  async release(): Promise<void> {
    await this.#deps.leases.unregister(this.#workerId)
    this.#registered = false
  }
}
