// The assignment of a worker by the settings: in the server process HTTP calls and all that cannot kill it, in a process
// of their own the others, such as shell commands and bundles.
import { type Config, commandVariables } from '../config/read.ts'
import { createExecutors } from '../worker/executors/list.ts'
import type { CommandPlace } from '../worker/executors/own-directory.ts'
import type { RoleDeps } from './roles.ts'
import { httpCapacity, type WorkerAssignment } from './worker.ts'

/** `given`: the place of the commands; null: the server process. */
export async function assignExecutors(
  config: Config,
  { world, store: { artifacts } }: Pick<RoleDeps, 'world' | 'store'>,
  given: Omit<CommandPlace, 'variables'> | null,
): Promise<WorkerAssignment> {
  const place = given && { ...given, variables: commandVariables() }
  const executors = await createExecutors({ ...world, artifacts, settings: config, place })
  return place === null
    ? { kind: 'http', capacity: httpCapacity, executors }
    : { kind: 'commands', capacity: config.commandsMax, executors }
}
