// All processes of an attempt, also the ones that left its process group on purpose. Where the kernel lets us make groups
// (cgroup 2) no process can leave them; elsewhere processes are found by the directory of the attempt in their environment.
import { basename } from 'node:path'
import { type Cgroup, openCgroup } from '../../lib/cgroup.ts'
import { killMarked } from '../../lib/marked-processes.ts'
import { ReapedCpu } from '../../lib/reaped-cpu.ts'
import { realTimers } from '../../lib/time/timers.ts'
import type { Timers } from '../../ports/timers.ts'

export interface AttemptProcesses {
  /** The first process, before it starts any other. */
  begin(pid: number): void
  kill(): void
  /** When the first process has ended: in its `exit` event. */
  exited(): void
  /** CPU time of all of them, in ms; null: not known. Without groups only of the ones that their parents waited for. */
  readCpuMs(): Promise<number | null>
  /** After the last process was killed. */
  end(): void
}

/** Names the directory of an attempt to its processes, and marks them as its own. */
export const directoryVariable = 'CARILLON_DIRECTORY'

const removeTriesMax = 100
const removeEveryMs = 20

/** The processes of commands with directories in `base`. */
export class CommandProcesses {
  readonly #base: string
  readonly #group: Cgroup | null
  readonly #reapedCpu = new ReapedCpu()

  /** `group`: for all of them; null: none can be made. */
  constructor(base: string, group: Cgroup | null = openCgroup(basename(base))) {
    this.#base = base
    this.#group = group
  }

  of(timers: Timers, directory: string): AttemptProcesses {
    const group = this.#group?.make(basename(directory)) ?? null
    let isGrouped = false
    let reapedMs: Promise<number | null> | null = null
    return {
      begin(pid) {
        isGrouped = group?.add(pid) ?? false
      },
      kill() {
        if (isGrouped) group!.kill()
        else killMarked(`${directoryVariable}=${directory}`)
      },
      exited: () => {
        reapedMs = this.#reapedCpu.take(timers)
      },
      readCpuMs: async () => (isGrouped ? group!.readCpuMs() : reapedMs),
      end: () => void (group !== null && removeEmpty(timers, group)),
    }
  }

  killAll(): void {
    this.#group?.kill()
    killMarked(`${directoryVariable}=${this.#base}/`)
  }

  /** After `killAll`, once no process starts any more. */
  async remove(): Promise<void> {
    if (this.#group !== null) await removeEmpty(realTimers, this.#group)
  }
}

/** A killed process stays in its group for a moment. */
async function removeEmpty(timers: Timers, group: Cgroup): Promise<void> {
  for (let tries = 0; tries < removeTriesMax && !group.remove(); tries++) await timers.wait(removeEveryMs)
}
