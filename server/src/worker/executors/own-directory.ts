// A directory for one attempt: empty at its start, nobody else's, gone when it is over.
import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { CommandDeps, Groups } from './command-process.ts'

/** Where commands run. */
export interface CommandPlace {
  groups: Groups
  /** The directory of their own ones: private, and removed with all in it when we die. */
  base: string
  /** The variables of our environment that a command gets. */
  variables: Readonly<Record<string, string>>
}

export type DirectoryDeps = CommandDeps & CommandPlace

export async function withDirectory<T>(
  { base }: Pick<CommandPlace, 'base'>,
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
