// CPU time and memory of a process and everything below it, from /proc (Linux).
import { readdirSync, readFileSync } from 'node:fs'

const ticksPerSecond = 100

export interface TreeUse {
  processes: number
  cpuSeconds: number
  memoryMb: number
}

export function measureTree(root: number): TreeUse {
  const all = new Map<number, { parent: number; ticks: number; pages: number }>()
  for (const name of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))) {
    const stat = read(`/proc/${name}/stat`)
    if (stat === null) continue
    const fields = stat
      .slice(stat.lastIndexOf(')') + 2)
      .split(' ')
      .map(Number)
    // utime, stime, and those of children that have ended: short-lived ones count too.
    const ticks = fields[11]! + fields[12]! + fields[13]! + fields[14]!
    all.set(Number(name), { parent: fields[1]!, ticks, pages: fields[21]! })
  }
  const tree = [root]
  for (const pid of tree)
    tree.push(...[...all].filter(([, one]) => one.parent === pid).map(([child]) => child))
  const used = tree.flatMap((pid) => all.get(pid) ?? [])
  return {
    processes: used.length,
    cpuSeconds: used.reduce((sum, { ticks }) => sum + ticks, 0) / ticksPerSecond,
    memoryMb: Math.round((used.reduce((sum, { pages }) => sum + pages, 0) * 4_096) / 1024 / 1024),
  }
}

function read(file: string): string | null {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return null // it ended meanwhile
  }
}
