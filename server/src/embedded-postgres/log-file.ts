// PostgreSQL's log file, bounded while it runs: a full disk or refused connections can fill it for days.
import { copyFile, rm, stat, truncate } from 'node:fs/promises'

const logBytesMax = 10 * 1024 * 1024

/** PostgreSQL appends to the file that it has open, so the file is emptied, not replaced, after a copy to FILE.1. */
export async function boundLog(logFile: string): Promise<void> {
  const size = await stat(logFile).then(
    (found) => found.size,
    () => 0,
  )
  if (size <= logBytesMax) return
  // Without room for the copy, the room is worth more than the old lines.
  await copyFile(logFile, `${logFile}.1`).catch(() => rm(`${logFile}.1`, { force: true }))
  await truncate(logFile)
}
