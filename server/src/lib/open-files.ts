// How many files and sockets this process may have open.
import { readFileSync } from 'node:fs'

/** Where the system does not say: a usual limit. */
const assumedMax = 1_024

/** Node has raised the limit of its process as far as it may by the time this is read. */
export function readOpenFilesMax(file = '/proc/self/limits'): number {
  let text: string
  try {
    text = readFileSync(file, 'latin1')
  } catch {
    return assumedMax
  }
  const limit = /^Max open files +(\d+|unlimited)/m.exec(text)?.[1]
  if (limit === undefined) return assumedMax
  return limit === 'unlimited' ? Infinity : Number(limit)
}
