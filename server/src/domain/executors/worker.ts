// worker: a handler in the user's own process, or in ours with `--handlers`. Each handler and set of labels has a route.
import type { AnyExecution } from '../jobs/job.ts'
import { shorten } from '../why/why-text.ts'
import type { ExecutorKind } from './kind.ts'

export interface WorkerExecution extends AnyExecution {
  type: 'worker'
  handler: string
  /** A worker must have all of them. Sorted, each once. */
  labels: readonly string[]
}

export const worker: ExecutorKind<WorkerExecution> = {
  routeOf: ({ handler, labels }, tenantId) => `${handlerRoutePrefix(tenantId, handler)}${labels.join(',')}`,
  isolates: true,
  isGivenParents: true,
  // No setting turns handlers on: a server runs them only with `--handlers FILE`.
  isAllowed: () => false,
  nobodyText({ handler, labels }) {
    const wanted = labels.length === 0 ? '' : ` with the labels ${shorten(labels.join(', '))}`
    return `no worker runs the handler ${handler}${wanted}`
  },
  runnersOf: ({ handler, labels }, tenantId) => ({ tenantId, handler, labels }),
  // The route is made from the labels: the same set of labels must give the same text.
  normalize: (execution) => ({ ...execution, labels: [...new Set(execution.labels)].toSorted() }),
}

/** The prefix of the routes of a handler; the labels that a worker must have follow it. */
export function handlerRoutePrefix(tenantId: string, handler: string): string {
  return `worker ${tenantId} ${handler} `
}

/** The tenant of a route to a handler. */
export function tenantOfRoute(route: string): string {
  return route.split(' ', 2)[1]!
}

/** Whether a worker with these labels may claim from a route to a handler that it has. */
export function hasLabelsFor(route: string, labels: ReadonlySet<string>): boolean {
  const wanted = route.slice(route.lastIndexOf(' ') + 1)
  return wanted === '' || wanted.split(',').every((label) => labels.has(label))
}
