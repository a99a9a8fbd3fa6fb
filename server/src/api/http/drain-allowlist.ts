// What a server answers while it stops: words about what is under way. Refused, they would cost workers their lease and
// attempts their end, though the database is there and nothing new is asked for.
import type { FastifyRequest } from 'fastify'

const served: ReadonlySet<string> = new Set([
  // It lives, and says that it is not ready: whoever kills what does not live must not kill what stops.
  'GET /livez',
  'GET /readyz',
  'GET /metrics',
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
