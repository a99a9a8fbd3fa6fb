// Process groups of this machine: whether any of their processes is alive, their resource use, and their end.
import { readdirSync, readFileSync } from 'node:fs'

export interface GroupUse {
  /** Resident memory of all its processes; shared pages count in each. */
  memoryBytes: number
  /** CPU time of its processes and of their ended children. */
  cpuSeconds: number
}

/** As Linux counts it for programs, on every machine. */
const ticksPerSecond = 100

export function killGroup(group: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-group, signal)
  } catch {
    // The process is gone, or it now runs as another user and is beyond our reach.
  }
}

/** Whether a process of the group is alive. A zombie does not count. */
export function groupLives(group: number): boolean {
  if (process.platform === 'linux') return readMembers(new Set([group])).length > 0
  try {
    return process.kill(-group, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** Of each group that lives; null where this machine cannot say. */
export function readGroupUse(groups: ReadonlySet<number>): Map<number, GroupUse> | null {
  if (process.platform !== 'linux') return null
  const uses = new Map<number, GroupUse>()
  for (const { pid, group, cpuSeconds } of readMembers(groups)) {
    const use = uses.get(group) ?? { memoryBytes: 0, cpuSeconds: 0 }
    use.memoryBytes += readResidentBytes(pid)
    use.cpuSeconds += cpuSeconds
    uses.set(group, use)
  }
  return uses
}

interface Member {
  pid: number
  group: number
  cpuSeconds: number
}

function readMembers(groups: ReadonlySet<number>): Member[] {
  return readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name)) return []
    const stat = read(`/proc/${name}/stat`)
    // The name of the program stands in parentheses and may have any character in it.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    const group = Number(fields[2])
    if (fields[0] === 'Z' || !groups.has(group)) return []
    const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0)
    return [{ pid: Number(name), group, cpuSeconds: ticks / ticksPerSecond }]
  })
}

function readResidentBytes(pid: number): number {
  return 1_024 * Number(/^VmRSS:\s+(\d+) kB/m.exec(read(`/proc/${pid}/status`))?.[1] ?? 0)
}

/** Empty: it ended between two looks. */
function read(file: string): string {
  try {
    return readFileSync(file, 'latin1')
  } catch {
    return ''
  }
}
