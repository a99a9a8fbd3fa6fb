// A route says which workers may claim an execution. It follows from the target of the execution, and is stored with
// the version of the job.
import type { Execution, Executor, JobVersion } from '../jobs/job.ts'

/** Claimed by our own workers: http. */
export const serverRoute = 'server'
/** Claimed by workers of ours that are configured for it. */
export const shellRoute = 'shell'
export const artifactRoute = 'artifact'

/**
 * In front of the route of a batch that a deleted job left behind: no worker claims from it, and the release loop ends
 * its executions.
 */
export const deletedRoutePrefix = 'deleted '

/**
 * Where an execution waits, instead of a host, that was lost more than once with workers of a kind that it may have
 * killed: a worker has one of them in hand at a time, so that one that kills its worker takes no other with it again and
 * again. One loss is no reason: a worker that is killed from outside held many innocent ones.
 */
export const suspectHost = 'suspect'

export function routeOf({ execution, tenantId }: Pick<JobVersion, 'execution' | 'tenantId'>): string {
  return execution.type === 'http'
    ? serverRoute
    : execution.type === 'worker'
      ? handlerRoute(tenantId, execution)
      : execution.type
}

export function executorOfRoute(route: string): Executor {
  const [kind] = withoutPrefix(route).split(' ', 1)
  return kind === serverRoute ? 'http' : (kind as Executor)
}

function withoutPrefix(route: string): string {
  return route.startsWith(deletedRoutePrefix) ? route.slice(deletedRoutePrefix.length) : route
}

function handlerRoute(tenantId: string, { handler, labels }: Extract<Execution, { type: 'worker' }>): string {
  return `${handlerRoutePrefix(tenantId, handler)}${labels.join(',')}`
}

/** The prefix of the routes of a handler; the labels that a worker must have follow it. */
export function handlerRoutePrefix(tenantId: string, handler: string): string {
  return `worker ${tenantId} ${handler} `
}

/** Whether a worker with these labels may claim from a route to a handler that it has. */
export function hasLabelsFor(route: string, labels: ReadonlySet<string>): boolean {
  const wanted = route.slice(route.lastIndexOf(' ') + 1)
  return wanted === '' || wanted.split(',').every((label) => labels.has(label))
}
