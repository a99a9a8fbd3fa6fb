// A directory for one attempt: empty at its start, nobody else's, gone when it is over.
import { chown, mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { SystemUser } from '../../lib/system-users.ts'
import type { CommandDeps } from './command-process.ts'

/** The user of commands; null: ours. A refusal: none runs here, and the reason. */
export type RunAs = { user: SystemUser | null } | { refusal: string }

/** Where commands run. */
export interface CommandPlace extends Omit<CommandDeps, 'timers'> {
  /** The directory of their own ones: removed with all in it when we die. */
  base: string
  /** The variables of our environment that a command gets. */
  variables: Readonly<Record<string, string>>
}

export type DirectoryDeps = CommandDeps & CommandPlace

export async function withDirectory<T>(
  { base, user }: Pick<CommandPlace, 'base' | 'user'>,
  use: (directory: string) => Promise<T>,
): Promise<T> {
  const directory = await mkdtemp(join(base, 'attempt-'))
  try {
    if (user !== null) await chown(directory, user.uid, user.gid)
    return await use(directory)
  } finally {
    // Files that it made unreadable to itself stay until the whole of `base` goes.
    await rm(directory, { recursive: true, force: true }).catch(() => {})
  }
}
