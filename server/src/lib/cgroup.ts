// Groups of processes in the kernel (cgroup 2). A process cannot leave its group by `setsid` or a double fork, and one
// write ends them all. There are none without Linux 5.14, and where we have no right to make them.
import {
  accessSync,
  constants,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  writeFileSync,
} from 'node:fs'
import { join, relative } from 'node:path'

export interface Cgroup {
  /** A group in it; null: it could not be made. */
  make(name: string): Cgroup | null
  /** False: it was not possible, as for a process that has ended. */
  add(pid: number): boolean
  /** Every process in it and in the groups below. */
  kill(): void
  /** CPU time of all processes that were ever in it, in ms; null: unknown. */
  readCpuMs(): number | null
  /** False: a process in it has not ended yet. */
  remove(): boolean
}

/** Below the group of this process. Null: there are no groups, or we may not make any. One that exists is opened. */
export function openCgroup(name: string): Cgroup | null {
  const own = findOwn()
  return own === null ? null : makeIn(own, name)
}

function makeIn(parent: string, name: string): Cgroup | null {
  const directory = join(parent, name)
  try {
    mkdirSync(directory)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') return null
  }
  try {
    accessSync(join(directory, 'cgroup.kill'), constants.W_OK)
    accessSync(join(directory, 'cgroup.procs'), constants.W_OK)
  } catch {
    return null
  }
  return groupIn(directory)
}

function groupIn(directory: string): Cgroup {
  const write = (file: string, text: string): boolean => {
    try {
      writeFileSync(join(directory, file), text)
      return true
    } catch {
      return false
    }
  }
  return {
    make: (name) => makeIn(directory, name),
    add: (pid) => write('cgroup.procs', String(pid)),
    kill: () => void write('cgroup.kill', '1'),
    readCpuMs() {
      const usageUs = /^usage_usec (\d+)$/m.exec(read(join(directory, 'cpu.stat')))?.[1]
      return usageUs === undefined ? null : Math.round(Number(usageUs) / 1_000)
    },
    remove: () => removeTree(directory),
  }
}

/** The directory of our own group; null: this machine has none. */
function findOwn(): string | null {
  const path = /^0::(\/.*)$/m.exec(read('/proc/self/cgroup'))?.[1]
  const mount = read('/proc/self/mountinfo')
    .split('\n')
    .map((line) => line.split(' '))
    .find((fields) => fields[fields.indexOf('-') + 1] === 'cgroup2')
  if (path === undefined || mount === undefined) return null
  // The mount may show a part of the tree only: the part that we are in, or we cannot reach our group.
  const below = relative(mount[3]!, path)
  return below.startsWith('..') ? null : join(mount[4]!, below)
}

function removeTree(directory: string): boolean {
  try {
    for (const entry of readdirSync(directory, { withFileTypes: true }))
      if (entry.isDirectory()) removeTree(join(directory, entry.name))
    rmdirSync(directory)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT'
  }
}

function read(file: string): string {
  try {
    return readFileSync(file, 'latin1')
  } catch {
    return ''
  }
}
