// A route says which workers may claim an execution. It follows from the target of the execution, and is stored with
// the version of the job.
import { EXECUTORS } from '@carillon/contract/executors/list.ts'
import { EXECUTOR_KINDS } from '../executors/list.ts'
import type { Executor, JobVersion } from '../jobs/job.ts'

export { serverRoute } from '../executors/http.ts'

/**
 * In front of the route of a batch that a deleted job left behind: no worker claims from it, and the release loop ends
 * its executions.
 */
export const deletedRoutePrefix = 'deleted '

/**
 * Where an execution waits, instead of a host, that was lost more than once with workers of a kind that it may have
 * killed: a worker holds one of them at a time, so that one that kills its worker takes no other with it again and
 * again. One loss is no reason: a worker that is killed from outside held many innocent ones.
 */
export const suspectHost = 'suspect'

export function routeOf({ execution, tenantId }: Pick<JobVersion, 'execution' | 'tenantId'>): string {
  const kind = EXECUTOR_KINDS[execution.type]
  return kind.route ?? kind.routeOf!(execution, tenantId)
}

export function executorOfRoute(route: string): Executor {
  const word = withoutPrefix(route).split(' ', 1)[0]
  return EXECUTORS.find((type) => EXECUTOR_KINDS[type].route === word) ?? (word as Executor)
}

function withoutPrefix(route: string): string {
  return route.startsWith(deletedRoutePrefix) ? route.slice(deletedRoutePrefix.length) : route
}
