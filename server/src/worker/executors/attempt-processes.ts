// All processes of an attempt, also the ones that left its process group on purpose. Where the kernel lets us make groups
// (cgroup 2) no process can leave them, and they have limits in all; elsewhere processes are found by the directory of the
// attempt in their environment.
import { totalmem } from 'node:os'
import { basename } from 'node:path'
import { type Cgroup, type CgroupLimits, openCgroup } from '../../lib/cgroup.ts'
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

/** Of the processes that all commands may have, for one attempt: as everything that tenants share. */
const processesShare = 1 / 4
/** Of the memory of the machine, for one attempt. */
const memoryShare = 1 / 2
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

  /** `processesMax`: of all commands. */
  of(timers: Timers, directory: string, processesMax: number): AttemptProcesses {
    const group = this.#group?.make(basename(directory), limitsOf(processesMax)) ?? null
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

function limitsOf(processesMax: number): CgroupLimits {
  return {
    processesMax: Math.ceil(processesMax * processesShare),
    memoryBytesMax: Math.floor(totalmem() * memoryShare),
  }
}

/** A killed process stays in its group for a moment. */
async function removeEmpty(timers: Timers, group: Cgroup): Promise<void> {
  for (let tries = 0; tries < removeTriesMax && !group.remove(); tries++) await timers.wait(removeEveryMs)
}
