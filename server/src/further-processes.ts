// The server processes beside the first one (CARILLON_PROCESSES): started, started again when they end, stopped.
// They hang on an IPC channel of ours, so they stop by themselves when we die.
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { withDeadline } from './lib/deadline.ts'
import type { Timers } from './ports/timers.ts'
import { processExited } from './telemetry/events.ts'

const restartMs = 1_000

export class FurtherProcesses {
  readonly #timers: Timers
  readonly #children = new Map<number, ChildProcess>()
  readonly #stop = new AbortController()

  constructor(timers: Timers, processes: number) {
    this.#timers = timers
    for (let number = 2; number <= processes; number++) this.#start(number)
  }

  /** Asks all to stop and waits for the last one; whoever is still there after `withinMs` is killed. */
  async stop(withinMs: number): Promise<void> {
    this.#stop.abort()
    const ended = [...this.#children.values()].map(async (child) => {
      const exit = once(child, 'exit')
      child.kill('SIGTERM')
      await exit
    })
    await withDeadline(this.#timers, withinMs, Promise.all(ended))
    for (const child of this.#children.values()) child.kill('SIGKILL')
    await Promise.all(ended)
  }

  #start(number: number): void {
    const child = fork(join(import.meta.dirname, 'further-process.ts'), { stdio: 'inherit' })
    this.#children.set(number, child)
    child.once('error', () => {}) // followed by `exit`, or by our own end
    child.once('exit', (code, signal) => void this.#restart(number, child, signal ?? `exit code ${code}`))
  }

  async #restart(number: number, child: ChildProcess, reason: string): Promise<void> {
    this.#children.delete(number)
    const { signal } = this.#stop
    if (signal.aborted) return
    processExited.emit({ process: number, processPid: child.pid ?? 0, reason, restartMs })
    await this.#timers.wait(restartMs, signal)
    if (!signal.aborted) this.#start(number)
  }
}
