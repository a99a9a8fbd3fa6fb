// A directory for one attempt: empty at its start, nobody else's, gone when it is over.
import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { CommandDeps } from './command-process.ts'

export interface DirectoryDeps extends CommandDeps {
  /** Where to make it: private, and removed with all in it when we die. */
  base: string
}

export async function withDirectory<T>(
  { base }: DirectoryDeps,
  use: (directory: string) => Promise<T>,
): Promise<T> {
  const directory = await mkdtemp(join(base, 'attempt-'))
  try {
    return await use(directory)
  } finally {
    // Files that it made unreadable to itself stay until the whole of `base` goes.
    await rm(directory, { recursive: true, force: true }).catch(() => {})
  }
}
