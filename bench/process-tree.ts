// CPU time and memory of a process and everything below it, from /proc (Linux).
import { readdirSync, readFileSync } from 'node:fs'

const ticksPerSecond = 100

export interface Use {
  processes: number
  cpuSeconds: number
  memoryMb: number
}

export interface TreeUse extends Use {
  /** The share of PostgreSQL; the rest is ours. */
  postgres: Use
}

interface Process {
  parent: number
  isPostgres: boolean
  ticks: number
  pages: number
}

export function measureTree(root: number): TreeUse {
  const all = new Map<number, Process>()
  for (const name of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))) {
    const stat = read(`/proc/${name}/stat`)
    if (stat !== null) all.set(Number(name), toProcess(stat))
  }
  const tree = [root]
  for (const pid of tree)
    tree.push(...[...all].filter(([, one]) => one.parent === pid).map(([child]) => child))
  const used = tree.flatMap((pid) => all.get(pid) ?? [])
  return { ...sum(used), postgres: sum(used.filter(({ isPostgres }) => isPostgres)) }
}

function toProcess(stat: string): Process {
  const nameEnd = stat.lastIndexOf(')')
  const fields = stat
    .slice(nameEnd + 2)
    .split(' ')
    .map(Number)
  return {
    parent: fields[1]!,
    isPostgres: stat.slice(stat.indexOf('(') + 1, nameEnd) === 'postgres',
    // utime and stime, also of ended children: short-lived ones count too.
    ticks: fields[11]! + fields[12]! + fields[13]! + fields[14]!,
    pages: fields[21]!,
  }
}

function sum(used: readonly Process[]): Use {
  return {
    processes: used.length,
    cpuSeconds: used.reduce((ticks, one) => ticks + one.ticks, 0) / ticksPerSecond,
    memoryMb: Math.round((used.reduce((pages, one) => pages + one.pages, 0) * 4_096) / 1024 / 1024),
  }
}

function read(file: string): string | null {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return null // it ended meanwhile
  }
}
