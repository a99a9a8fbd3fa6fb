// The executor of every kind that a server runs itself. A kind of the contract that is missing here does not compile. A
// module is loaded only by a process that runs its kind.
import type { Executor } from '@carillon/contract/executors/list.ts'
import type { ExecutorSettings } from '../../domain/executors/kind.ts'
import { kindsAllowed } from '../../domain/executors/list.ts'
import type { Artifacts } from '../../ports/artifacts.ts'
import type { LocalExecutor } from '../../ports/executor.ts'
import type { World } from '../../ports/world.ts'
import type { LocalExecutors } from '../run-local.ts'
import { refusing } from './command-end.ts'
import type { CommandPlace, RunAs } from './own-directory.ts'

export interface LocalExecutorDeps extends Pick<World, 'clock' | 'timers'> {
  artifacts: Artifacts
  settings: ExecutorSettings
  /** Where a kind that isolates starts processes; null for the other kinds, which run in the server process. */
  place: CommandPlace | null
}

type Load = () => Promise<{ createExecutor(deps: LocalExecutorDeps): LocalExecutor }>

const loads: Record<Executor, Load | null> = {
  // HTTP calls need no executor: every worker in a server process makes them, by `runHttp`.
  http: null,
  // Handlers come from the user's file: see wiring/handlers.ts.
  worker: null,
  shell: () => import('./shell.ts'),
  artifact: () => import('./artifact.ts'),
}

/** Executors of the kinds that the settings allow: with a `place` the kinds that isolate, without it all others. */
export async function createExecutors({
  place,
  ...deps
}: Omit<LocalExecutorDeps, 'place'> & {
  place: (Omit<CommandPlace, 'user'> & { runAs: RunAs }) | null
}): Promise<LocalExecutors> {
  const created: LocalExecutors = {}
  const runAs = place?.runAs ?? { user: null }
  for (const type of kindsAllowed(deps.settings, place !== null)) {
    if ('refusal' in runAs) created[type] = refusing(runAs.refusal)
    else {
      const loaded = await loads[type]?.()
      const given = place && { ...place, user: runAs.user }
      if (loaded !== undefined) created[type] = loaded.createExecutor({ ...deps, place: given })
    }
  }
  return created
}
