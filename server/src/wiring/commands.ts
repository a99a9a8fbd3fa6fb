// The worker of shell commands and bundles, and the executors that run them.
import { join } from 'node:path'
import { type Config, commandVariables } from '../config/read.ts'
import { createArtifactExecutor } from '../worker/executors/artifact.ts'
import { BundleCache } from '../worker/executors/bundle-cache.ts'
import type { Groups } from '../worker/executors/command-process.ts'
import { GroupWatch } from '../worker/executors/group-watch.ts'
import { createShellExecutor } from '../worker/executors/shell.ts'
import type { RoleDeps } from './roles.ts'
import type { WorkerAssignment } from './worker.ts'

export function assignCommands(
  config: Config,
  { world, store: { artifacts } }: Pick<RoleDeps, 'world' | 'store'>,
  place: { groups: Groups; base: string },
): WorkerAssignment {
  const { clock, timers } = world
  const { shellCommands, artifactsDir, artifactCpuSeconds, artifactMemoryMb } = config
  const deps = { timers, variables: commandVariables(), ...place }
  const executors: Extract<WorkerAssignment, { kind: 'commands' }>['executors'] = {}
  if (shellCommands.length > 0) executors.shell = createShellExecutor(deps, shellCommands)
  if (config.artifacts) {
    const bundles = new BundleCache(clock, { directory: join(config.dataDir, 'artifacts') })
    executors.artifact = createArtifactExecutor(
      {
        ...deps,
        artifacts,
        artifactsDir,
        bundles,
        watch: new GroupWatch(timers),
      },
      { cpuSeconds: artifactCpuSeconds, memoryMb: artifactMemoryMb },
    )
  }
  return { kind: 'commands', capacity: config.commandsMax, executors }
}
