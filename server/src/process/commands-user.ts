// The user that commands and bundles run as. They never run as root: a server of root gives them a user that owns nothing.
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Config } from '../config/read.ts'
import { findUser, makeUser, type SystemUser, thisSystem } from '../lib/system-users.ts'
import type { RunAs } from '../worker/executors/own-directory.ts'

export interface CommandsUserDeps {
  /** The user that we run as; undefined: this machine has no users. */
  self: number | undefined
  findUser(name: string): Promise<SystemUser | null>
  makeUser(name: string): Promise<SystemUser>
}

const defaultName = 'carillon-jobs'

const real: CommandsUserDeps = {
  self: process.getuid?.(),
  findUser,
  async makeUser(name) {
    const reason = await makeUser(name, thisSystem)
    const made = await findUser(name)
    if (made === null) throw new Error(reason)
    return made
  },
}

/** To look without a change. */
export const withoutMaking: CommandsUserDeps = {
  ...real,
  async makeUser() {
    throw new Error('it does not exist')
  },
}

export async function chooseCommandsUser(
  { commandsUser, dataDir }: Pick<Config, 'commandsUser' | 'dataDir'>,
  deps = real,
): Promise<RunAs> {
  const { self } = deps
  let chosen: SystemUser
  if (commandsUser === null) {
    if (self !== 0) return { user: null }
    try {
      chosen = (await deps.findUser(defaultName)) ?? (await deps.makeUser(defaultName))
    } catch (error) {
      return refuse(`the user ${defaultName} could not be made (${(error as Error).message})`)
    }
  } else {
    const found = 'name' in commandsUser ? await deps.findUser(commandsUser.name) : commandsUser
    if (found === null) return refuse('there is no user of the name in CARILLON_COMMANDS_USER')
    if (self !== 0 && found.uid !== self) return refuse('only a server of root can run them as another user')
    if (self !== 0) return { user: null }
    chosen = found
  }
  if (chosen.uid === 0 || chosen.gid === 0) return refuse('they do not run as root')
  const owner = await stat(join(dataDir, 'pg')).catch(() => null)
  if (owner?.uid === chosen.uid) return refuse('their user owns the database')
  return { user: chosen }
}

function refuse(reason: string): RunAs {
  return { refusal: `Commands and bundles do not run on this server: ${reason}. Set CARILLON_COMMANDS_USER.` }
}
