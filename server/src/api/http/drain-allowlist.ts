// The calls that a server answers while it stops: reports about work under way. Refusing them would cost workers their
// lease and attempts their end, though the database is there and nothing new is asked for.
import type { FastifyRequest } from 'fastify'

const served: ReadonlySet<string> = new Set([
  // A stopping server is alive and reports that it is not ready: a supervisor that kills dead processes must not kill
  // it.
  'GET /livez',
  'GET /readyz',
  'GET /metrics',
  'GET /proof',
  'POST /api/v1/workers/heartbeat',
  'POST /api/v1/workers/report',
  'DELETE /api/v1/workers/:worker_id',
  'POST /api/v1/executions/:execution_id/complete',
  'POST /api/v1/executions/:execution_id/heartbeat',
  'POST /api/v1/executions/:execution_id/logs',
])

export function isOnDrainAllowlist({ method, routeOptions }: FastifyRequest): boolean {
  return served.has(`${method} ${routeOptions.url}`)
}
