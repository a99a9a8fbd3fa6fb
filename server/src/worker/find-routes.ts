// The routes of a worker that runs handlers: the routes of its handlers that have executions to claim now and ask for no
// label that it lacks. Routes are made by jobs, so they are looked up before each claim.
import { handlerRoutePrefix, hasLabelsFor } from '../domain/executors/worker.ts'
import type { Routes } from '../ports/routes.ts'

export interface HandlersOf {
  tenantId: string
  handlers: readonly string[]
  labels: readonly string[]
}

/** The most routes per handler: its jobs may ask for this many combinations of labels. */
const routesMax = 100

export function createRouteFinder(
  routes: Pick<Routes, 'findWaiting'>,
  { tenantId, handlers, labels }: HandlersOf,
): () => Promise<readonly string[]> {
  const prefixes = handlers.map((handler) => handlerRoutePrefix(tenantId, handler))
  const has = new Set(labels)
  return async () => {
    const waiting = await routes.findWaiting(prefixes, routesMax)
    return waiting.filter((route) => hasLabelsFor(route, has))
  }
}
