// The context of a fault: the cluster, its own dice, and the list that it is recorded in. A fault holds the servers it
// strikes, so that two faults never strike the same server at once.
import { join } from 'node:path'
import { realTimers } from '../../src/lib/time/timers.ts'
import type { Dice } from '../fuzz/dice.ts'
import type { ChaosNode } from './chaos-node.ts'
import type { Cluster } from './cluster.ts'
import type { Driver } from './driver.ts'
import type { Guard } from './guard.ts'
import { type FaultLine, FILES, LineWriter } from './history.ts'

export interface RigOptions {
  dir: string
  guard: Guard
  cluster: Cluster
  driver: Driver
  /** A checkout of an earlier version; null: there is none to be had. */
  oldCheckout: string | null
  /** The library that shifts a clock; null: it is not installed. */
  faketime: string | null
  /** Every fault ends at once. */
  signal: AbortSignal
}

export interface FaultGiven {
  kind: string
  target: string
  details?: Record<string, unknown>
}

export class Rig implements Disposable {
  readonly dir: string
  readonly guard: Guard
  readonly cluster: Cluster
  readonly driver: Driver
  readonly oldCheckout: string | null
  readonly faketime: string | null
  readonly signal: AbortSignal
  /** Faults that are over. */
  readonly faults: FaultLine[] = []
  /** Faults that are on. */
  readonly striking = new Set<FaultGiven>()
  /** Problems that only the rig can see. */
  readonly complaints: string[] = []
  readonly #ending = new AbortController()
  readonly #lines: LineWriter
  readonly #held = new Set<ChaosNode>()

  constructor(options: RigOptions) {
    this.dir = options.dir
    this.guard = options.guard
    this.cluster = options.cluster
    this.driver = options.driver
    this.oldCheckout = options.oldCheckout
    this.faketime = options.faketime
    this.signal = options.signal
    this.#lines = new LineWriter(join(options.dir, FILES.faults))
  }

  /** Runs the fault and records it, with the details that `act` added. */
  async strike(fault: FaultGiven, act: (details: Record<string, unknown>) => Promise<void>): Promise<void> {
    const details = fault.details ?? {}
    const at = Date.now()
    this.striking.add(fault)
    try {
      await act(details)
    } finally {
      this.striking.delete(fault)
      const line: FaultLine = { at, kind: fault.kind, target: fault.target, until: Date.now(), details }
      this.faults.push(line)
      this.#lines.write(line)
    }
  }

  /** No more faults are to come: one that lasts need not go on. */
  get ending(): AbortSignal {
    return this.#ending.signal
  }

  end(): void {
    this.#ending.abort()
  }

  /** As long as the fault is to last. */
  rest(ms: number): Promise<void> {
    return realTimers.wait(ms, this.signal)
  }

  isFree(node: ChaosNode): boolean {
    return !this.#held.has(node)
  }

  free(roles: readonly string[]): ChaosNode[] {
    return this.cluster.nodes.filter((node) => roles.includes(node.role) && this.isFree(node))
  }

  /** One that no other fault is done to; null: there is none. */
  pickFree(dice: Dice, roles: readonly string[]): ChaosNode | null {
    const free = this.free(roles)
    return free.length === 0 ? null : dice.pick(free)
  }

  hold(...nodes: ChaosNode[]): Disposable {
    for (const node of nodes) this.#held.add(node)
    return {
      [Symbol.dispose]: () => {
        for (const node of nodes) this.#held.delete(node)
      },
    }
  }

  [Symbol.dispose](): void {
    this.#lines.close()
  }
}
