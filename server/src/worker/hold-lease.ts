// A worker's right to act: registered under a fresh id, kept by a beat every few seconds, given back at the end.
// A worker that finds itself declared dead continues under a new id; the executions of the old id no longer belong to it.
import { hostname } from 'node:os'
import { type Worker, type WorkerStatus, workerLeaseMs } from '../domain/queue/worker.ts'
import type { Clock } from '../ports/clock.ts'
import type { Ids } from '../ports/ids.ts'
import type { Leases } from '../ports/leases.ts'
import { workerLeaseLost, workerRegistered } from '../telemetry/events.ts'

export interface LeaseDeps {
  clock: Pick<Clock, 'monotonicMs'>
  leases: Leases
  ids: Ids
  currentLoad: () => number
  /** Called when the lease of this id is gone, and with it every execution that was held under it. */
  onLost: (workerId: string) => void
}

export type LeaseOptions = Omit<Worker, 'workerId' | 'host'>

/** Other processes may declare this worker dead after its lease. It starts nothing in this last part of the lease. */
const marginMs = 2_000

export class WorkerLease {
  readonly #deps: LeaseDeps
  readonly #options: LeaseOptions
  #workerId: string
  #registered = false
  #status: WorkerStatus = 'ACTIVE'
  /** When the last beat that was answered had been sent. */
  #beatMs = Number.NEGATIVE_INFINITY

  constructor(deps: LeaseDeps, options: LeaseOptions) {
    this.#deps = deps
    this.#options = options
    this.#workerId = deps.ids.next()
  }

  get workerId(): string {
    return this.#workerId
  }

  /** Whether no other process can have declared us dead yet. */
  isFresh(): boolean {
    return this.#registered && this.silentMs() < workerLeaseMs - marginMs
  }

  /** 'ok', or why it starts nothing. */
  check(): string {
    if (this.#beatMs === Number.NEGATIVE_INFINITY) return 'not registered'
    return this.isFresh() ? 'ok' : `lease last renewed ${Math.round(this.silentMs() / 1_000)} s ago`
  }

  /** How long ago the last beat was sent that was answered. */
  silentMs(): number {
    return this.#deps.clock.monotonicMs() - this.#beatMs
  }

  /** One beat; the first one registers. A step for a Loop. */
  async beat(): Promise<'idle' | 'more'> {
    const { leases, clock, ids } = this.#deps
    const workerId = this.#workerId
    if (!this.#registered) {
      // The same id until it is known to be registered: a lost reply must not leave a ghost behind.
      await leases.register({ workerId, host: hostname(), ...this.#options })
      this.#registered = true
      workerRegistered.emit({ workerId })
    }
    const sentMs = clock.monotonicMs()
    const held = await leases.beat(workerId, { status: this.#status, currentLoad: this.#deps.currentLoad() })
    if (held === 'held') {
      this.#beatMs = sentMs
      return 'idle'
    }
    workerLeaseLost.emit({ workerId })
    this.#workerId = ids.next()
    this.#registered = false
    this.#beatMs = Number.NEGATIVE_INFINITY
    this.#deps.onLost(workerId)
    return 'more'
  }

  /** Shows other processes that no more executions are claimed. */
  async drain(): Promise<void> {
    this.#status = 'DRAINING'
    if (this.#registered) await this.beat()
  }

  async release(): Promise<void> {
    await this.#deps.leases.unregister(this.#workerId)
    this.#registered = false
    this.#beatMs = Number.NEGATIVE_INFINITY
  }
}
