// Makes the assignment of a worker from the settings. The server process runs HTTP calls and every kind that cannot kill
// its process; a separate process runs the others, such as shell commands and bundles.
import { type Config, commandVariables } from '../config/read.ts'
import type { CommandProcesses } from '../worker/executors/attempt-processes.ts'
import type { Groups } from '../worker/executors/command-process.ts'
import { createExecutors } from '../worker/executors/list.ts'
import type { RunAs } from '../worker/executors/own-directory.ts'
import type { RoleDeps } from './roles.ts'
import { httpCapacity, type WorkerAssignment } from './worker.ts'

export interface CommandsAssignment {
  groups: Groups
  processes: CommandProcesses
  base: string
  runAs: RunAs
}

/** `given`: how a separate process starts commands; null: this is the server process. */
export async function assignExecutors(
  config: Config,
  { world, store: { artifacts } }: Pick<RoleDeps, 'world' | 'store'>,
  given: CommandsAssignment | null,
): Promise<WorkerAssignment> {
  const { commandsFileMb: fileMb, commandsProcessesMax: processesMax } = config
  const limits = { fileMb, processesMax }
  const place = given && { ...given, limits, variables: commandVariables() }
  const executors = await createExecutors({ ...world, artifacts, settings: config, place })
  return place === null
    ? { kind: 'http', capacity: httpCapacity, executors }
    : { kind: 'commands', capacity: config.commandsMax, executors }
}
