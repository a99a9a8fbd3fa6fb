// The rules of every kind of executor. A kind of the contract that is missing here does not compile.
import { EXECUTORS, type Executor } from '@carillon/contract/executors/list.ts'
import type { AnyExecution } from '../jobs/job.ts'
import { artifact } from './artifact.ts'
import { http } from './http.ts'
import type { ExecutorKind, ExecutorSettings } from './kind.ts'
import { shell } from './shell.ts'
import { worker } from './worker.ts'

const kinds = { http, worker, shell, artifact } satisfies {
  [Kind in Executor]: ExecutorKind<AnyExecution & { type: Kind }>
}

/** The call that an attempt makes. */
export type Execution = {
  [Kind in Executor]: (typeof kinds)[Kind] extends ExecutorKind<infer Own> ? Own : never
}[Executor]

export const EXECUTOR_KINDS: Readonly<Record<Executor, ExecutorKind<Execution>>> = kinds

/** `isIsolated`: the kinds that run in a separate process; otherwise the kinds that run in the server process. */
function kindsThat(isIsolated: boolean): Executor[] {
  return EXECUTORS.filter((type) => EXECUTOR_KINDS[type].isolates === isIsolated)
}

/** The kinds that the settings of a server let its own workers run; `isIsolated` as in `kindsThat`. */
export function kindsAllowed(settings: ExecutorSettings, isIsolated: boolean): Executor[] {
  return kindsThat(isIsolated).filter((type) => EXECUTOR_KINDS[type].isAllowed?.(settings) ?? true)
}

/** The routes of the kinds whose route is the same for every job; `isIsolated` as in `kindsThat`. */
export function fixedRoutes(isIsolated: boolean): string[] {
  return kindsThat(isIsolated).flatMap((type) => EXECUTOR_KINDS[type].route ?? [])
}
