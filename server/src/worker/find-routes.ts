// The routes of a worker that runs handlers: those of its handlers that have something to claim now and ask for no label
// that it lacks. Routes are made by jobs, so they are looked up before each claim.
import { handlerRoutePrefix, hasLabelsFor } from '../domain/queue/route.ts'
import type { Routes } from '../ports/routes.ts'

export interface HandlersOf {
  tenantId: string
  handlers: readonly string[]
  labels: readonly string[]
}

/** Of one handler: jobs may ask for its labels in so many ways. */
const routesMax = 100

export function createRouteFinder(
  routes: Routes,
  { tenantId, handlers, labels }: HandlersOf,
): () => Promise<readonly string[]> {
  const prefixes = handlers.map((handler) => handlerRoutePrefix(tenantId, handler))
  const has = new Set(labels)
  return async () => {
    const waiting = await routes.findWaiting(prefixes, routesMax)
    return waiting.filter((route) => hasLabelsFor(route, has))
  }
}
