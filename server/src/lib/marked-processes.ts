// Finds processes by the beginning of a variable in their environment, wherever they have gone: a process that leaves its
// group and its session keeps the environment that it was started with.
import { readdirSync, readFileSync } from 'node:fs'

/** A process that forks while we look is found by a later look. */
const looksMax = 20

/**
 * Kills every process whose environment has a variable that begins with `mark`, as `NAME=value`. Only Linux shows the
 * environment of others; a process that started a program with another environment is not found.
 */
export function killMarked(mark: string): void {
  if (process.platform !== 'linux') return
  const killed = new Set<number>()
  for (let looks = 0; looks < looksMax; looks++) if (!killNew(mark, killed)) return
}

/** Whether there were any that were not killed before. */
function killNew(mark: string, killed: Set<number>): boolean {
  const before = killed.size
  for (const name of readdirSync('/proc')) {
    const pid = Number(name)
    if (Number.isNaN(pid) || pid === process.pid || killed.has(pid) || !hasMark(pid, mark)) continue
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // It has ended, or it runs as another user now and is beyond our reach.
    }
    killed.add(pid)
  }
  return killed.size > before
}

/** A process that has ended has no environment any more. */
function hasMark(pid: number, mark: string): boolean {
  try {
    const environment = readFileSync(`/proc/${pid}/environ`, 'latin1')
    return environment.startsWith(mark) || environment.includes(`\0${mark}`)
  } catch {
    return false
  }
}
