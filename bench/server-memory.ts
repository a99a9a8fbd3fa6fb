// Memory of the server's own processes, as the system counts it (RSS).
import { readFileSync } from 'node:fs'
import { measureTree } from './process-tree.ts'

/** Below `npm start`, which only waits: neither it nor PostgreSQL is counted. */
export function serverMemoryMb(npmPid: number): number {
  const { memoryMb, postgres } = measureTree(npmPid)
  const npmPages = Number(readFileSync(`/proc/${npmPid}/statm`, 'utf8').split(' ')[1])
  return memoryMb - postgres.memoryMb - Math.round((npmPages * 4_096) / 1024 / 1024)
}
