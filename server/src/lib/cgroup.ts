// Groups of processes in the kernel (cgroup 2). A process cannot leave its group by `setsid` or a double fork, and one
// write ends them all. There are none without Linux 5.14, and where we have no right to make them.
import {
  accessSync,
  closeSync,
  constants,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  writeSync,
} from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'

/** Of all processes in a group together. */
export interface CgroupLimits {
  processesMax: number
  memoryBytesMax: number
}

export interface Cgroup {
  /** A group in it; null: it could not be made. Its limits hold where the kernel lets us set any. */
  make(name: string, limits?: CgroupLimits): Cgroup | null
  /** False: it was not possible, as for a process that has ended. */
  add(pid: number): boolean
  /** Every process in it and in the groups below. */
  kill(): void
  /** CPU time of all processes that were ever in it, in ms; null: unknown. */
  readCpuMs(): number | null
  /** False: a process in it has not ended yet. */
  remove(): boolean
}

/**
 * A service manager puts the server into a group of this name below the one that it hands over (`DelegateSubgroup` of
 * systemd): groups of commands are made beside it, as the kernel gives limits only to groups below one without processes.
 */
const ownGroupName = 'carillon-server'

/** Below the group of this process. Null: there are no groups, or we may not make any. One that exists is opened. */
export function openCgroup(name: string): Cgroup | null {
  const own = findOwn()
  return own === null ? null : openCgroupIn(own, name)
}

/** The same, below the group of this directory. */
export function openCgroupIn(own: string, name: string): Cgroup | null {
  const parent = basename(own) === ownGroupName ? dirname(own) : own
  const group = makeIn(parent, name)
  if (group !== null) for (const directory of [parent, join(parent, name)]) allowLimits(directory)
  return group
}

function allowLimits(directory: string): void {
  for (const controller of ['pids', 'memory'])
    write(join(directory, 'cgroup.subtree_control'), `+${controller}`)
}

function makeIn(parent: string, name: string, limits?: CgroupLimits): Cgroup | null {
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
  if (limits !== undefined) {
    write(join(directory, 'pids.max'), String(limits.processesMax))
    // All of its processes end, not the largest one: a command of which one part is gone may go on for ever.
    write(join(directory, 'memory.oom.group'), '1')
    write(join(directory, 'memory.swap.max'), '0')
    write(join(directory, 'memory.max'), String(limits.memoryBytesMax))
  }
  return groupIn(directory)
}

function groupIn(directory: string): Cgroup {
  return {
    make: (name, limits) => makeIn(directory, name, limits),
    add: (pid) => write(join(directory, 'cgroup.procs'), String(pid)),
    kill: () => void write(join(directory, 'cgroup.kill'), '1'),
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

/** Of a file that the kernel has made; false: it has not, or refuses. */
function write(file: string, text: string): boolean {
  try {
    const descriptor = openSync(file, constants.O_WRONLY)
    try {
      writeSync(descriptor, text)
    } finally {
      closeSync(descriptor)
    }
    return true
  } catch {
    return false
  }
}

function read(file: string): string {
  try {
    return readFileSync(file, 'latin1')
  } catch {
    return ''
  }
}
