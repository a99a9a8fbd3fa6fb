// The server processes beside the first one: started, restarted when they end, stopped. Each has an IPC channel to this
// process, so they stop on their own when it dies. When one of them dies, the processes it had started are killed, and
// the executions it held are reclaimed at once.
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { killGroup } from '../lib/process-groups.ts'
import { withDeadline } from '../lib/time/deadline.ts'
import type { Clock } from '../ports/clock.ts'
import type { Timer, Timers } from '../ports/timers.ts'
import { processExited } from '../telemetry/events.ts'
import type { ProcessReports } from '../telemetry/process-metrics.ts'
import { CommandProcesses } from '../worker/executors/attempt-processes.ts'
import type { RunAs } from '../worker/executors/own-directory.ts'
import { aliveEveryMs, type ChildAssignment, type ProcessMessage } from './messages.ts'

export interface ChildDeps {
  clock: Pick<Clock, 'monotonicMs'>
  timers: Timers
  /** The worker died with its process. */
  reclaim: (workerId: string) => Promise<void>
  reports: ProcessReports
}

export interface ChildOptions {
  /** Server processes in all, with the first. */
  processes: number
  /** The user of shell commands and bundles; null: none are run here. */
  commands: RunAs | null
  /** Null: none are run here. */
  handlers: Omit<Extract<ChildAssignment, { kind: 'handlers' }>, 'kind'> | null
}

const restartMs = 1_000
/** One that dies at once, again and again, is given more time each time. */
const restartMsMax = 30_000
const livedMs = 10_000
/** One that has not said that it lives for so many times is stuck: its lease is lost by then. */
const missedMax = 8
const stuckReason = `no sign of life for ${(missedMax * aliveEveryMs) / 1_000} s`

interface Place {
  number: number
  kind: ChildAssignment['kind']
  waitMs: number
}

interface Running {
  child: ChildProcess
  assignment: ChildAssignment
  workerIds: Set<string>
  groups: Set<number>
  /** Signs of life that did not come, counted here: when we stood still ourselves, they come in first. */
  missed: number
}

export class ChildProcesses {
  readonly #deps: ChildDeps
  readonly #options: ChildOptions
  readonly #running = new Set<Running>()
  readonly #loops: Promise<void>[]
  readonly #stop = new AbortController()

  constructor(deps: ChildDeps, options: ChildOptions) {
    this.#deps = deps
    this.#options = options
    const kinds: ChildAssignment['kind'][] = Array(options.processes - 1).fill('roles')
    if (options.commands !== null) kinds.push('commands')
    if (options.handlers !== null) kinds.push('handlers')
    this.#loops = kinds.map((kind, i) => this.#keep({ number: i + 2, kind, waitMs: restartMs }))
  }

  /** Asks all processes to stop and waits for the last one; a process still there after `withinMs` is killed. */
  async stop(withinMs: number): Promise<void> {
    this.#stop.abort()
    const allEnded = Promise.all(this.#loops)
    for (const { child } of this.#running) child.kill('SIGTERM')
    await withDeadline(this.#deps.timers, withinMs, allEnded)
    for (const { child } of this.#running) child.kill('SIGKILL')
    await allEnded
  }

  async #keep(place: Place): Promise<void> {
    const { signal } = this.#stop
    while (!signal.aborted) {
      const startedMs = this.#deps.clock.monotonicMs()
      const { pid, reason } = await this.#runOnce(place.kind)
      if (signal.aborted) return
      const hasLived = this.#deps.clock.monotonicMs() - startedMs >= livedMs
      if (hasLived) place.waitMs = restartMs
      const { number, waitMs } = place
      processExited.emit({ process: number, processPid: pid, reason, restartMs: waitMs })
      place.waitMs = Math.min(restartMsMax, 2 * waitMs)
      await this.#deps.timers.wait(waitMs, signal)
    }
  }

  /** From its start until nothing of it is left. */
  async #runOnce(kind: ChildAssignment['kind']): Promise<{ pid: number; reason: string }> {
    let assignment: ChildAssignment
    try {
      assignment = await this.#makeHeldExecution(kind)
    } catch (error) {
      return { pid: 0, reason: (error as Error).message }
    }
    let child: ChildProcess
    try {
      child = fork(join(import.meta.dirname, 'child-process.ts'), [kind], { stdio: 'inherit' })
    } catch (error) {
      await this.#cleanUp({ assignment, groups: new Set(), workerIds: new Set() })
      return { pid: 0, reason: (error as Error).message }
    }
    const running: Running = { child, assignment, workerIds: new Set(), groups: new Set(), missed: 0 }
    this.#running.add(running)
    child.on('error', () => {}) // followed by `exit`, or by our own end
    child.on('message', (word) => this.#note(running, word as ProcessMessage))
    const over = ended(child)
    child.send(assignment, () => {}) // one that died meanwhile has ended
    // Asked to stop while it was being made.
    if (this.#stop.signal.aborted) child.kill('SIGTERM')
    const watch = kind === 'roles' ? null : this.#watch(running)
    const reason = await over
    watch?.cancel()
    this.#deps.reports.end(running)
    await this.#cleanUp(running)
    this.#running.delete(running)
    return { pid: child.pid ?? 0, reason: running.missed > missedMax ? stuckReason : reason }
  }

  #note(running: Running, word: ProcessMessage): void {
    const { workerIds, groups } = running
    running.missed = 0
    if ('alive' in word) return
    if ('report' in word) this.#deps.reports.note(running, word.report)
    else if ('workerId' in word) workerIds.add(word.workerId)
    else if ('groupStarted' in word) groups.add(word.groupStarted)
    else groups.delete(word.groupEnded)
  }

  /** Code of others runs in it, and may never let go of its thread. */
  #watch(running: Running): { cancel(): void } {
    let timer: Timer
    const look = () => {
      running.missed += 1
      if (running.missed > missedMax) running.child.kill('SIGKILL')
      else timer = this.#deps.timers.schedule(aliveEveryMs, look)
    }
    timer = this.#deps.timers.schedule(aliveEveryMs, look)
    return { cancel: () => timer.cancel() }
  }

  async #makeHeldExecution(kind: ChildAssignment['kind']): Promise<ChildAssignment> {
    if (kind === 'commands') {
      const base = await mkdtemp(join(tmpdir(), 'carillon-commands-'))
      // Passed through by their user, and listed by nobody else.
      await chmod(base, 0o711)
      return { kind, base, runAs: this.#options.commands! }
    }
    return kind === 'handlers' ? { kind, ...this.#options.handlers! } : { kind }
  }

  /** First kills the processes it started, then reclaims the executions it held: nothing may run twice at once. */
  async #cleanUp({ assignment, groups, workerIds }: Omit<Running, 'child' | 'missed'>): Promise<void> {
    for (const group of groups) killGroup(group, 'SIGKILL')
    if (assignment.kind === 'commands') {
      const processes = new CommandProcesses(assignment.base)
      processes.killAll()
      await processes.remove()
      await rm(assignment.base, { recursive: true, force: true }).catch(() => {})
    }
    if (this.#stop.signal.aborted) return
    // If this fails, maintenance reclaims when the lease has run out.
    for (const workerId of workerIds) await this.#deps.reclaim(workerId).catch(() => {})
  }
}

/** How the process ended. Its earlier messages come first: only then is the channel closed. */
async function ended(child: ChildProcess): Promise<string> {
  const failed = new Promise<string>((resolve) => {
    child.on('error', (error) => {
      // Without a process there is no exit either.
      if (child.pid === undefined) resolve(error.message)
    })
  })
  const closed = once(child, 'disconnect')
  const exited = once(child, 'exit').then(async ([code, signal]) => {
    await closed
    return String(signal ?? `exit code ${code}`)
  })
  // One that could not be started ends by `failed`; these two then reject.
  for (const promise of [closed, exited]) promise.catch(() => {})
  return Promise.race([exited.catch(() => failed), failed])
}
