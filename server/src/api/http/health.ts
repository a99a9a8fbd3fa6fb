// GET /livez: the process answers. GET /readyz: it can do its work now. GET /metrics: for Prometheus.
import { createHash, timingSafeEqual } from 'node:crypto'
import { Live, Ready } from '@carillon/contract/health.ts'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { ApiError } from './api-error.ts'

export interface HealthDeps {
  version: string
  roles: readonly string[]
  /** Each dependency by name: 'ok', or why not. */
  checkReady: () => Promise<Record<string, string>>
  metrics: { contentType: string; read: () => Promise<string> }
  /** The bearer token that /metrics asks for; null: it is open. */
  metricsToken: string | null
}

export function healthRoutes(app: FastifyInstance, deps: HealthDeps): void {
  app.get(
    '/livez',
    { schema: { tags: ['health'], summary: 'Whether the process answers', response: { 200: Live } } },
    async () => ({ status: 'alive' }),
  )

  app.get(
    '/readyz',
    {
      schema: {
        tags: ['health'],
        summary: 'Whether the server can do its work now',
        response: { 200: Ready, 503: Ready },
      },
    },
    async (_request, reply) => {
      const checks = await deps.checkReady()
      const ready = Object.values(checks).every((state) => state === 'ok')
      if (!ready) reply.code(503).header('retry-after', '1')
      const { version, roles } = deps
      return { status: ready ? 'ready' : 'not_ready', version, roles, checks }
    },
  )

  app.get(
    '/metrics',
    {
      schema: {
        tags: ['health'],
        summary: 'Metrics in the text format of Prometheus',
        produces: ['text/plain'],
        response: {
          200: { description: 'The metrics.', content: { 'text/plain': { schema: { type: 'string' } } } },
        },
      },
    },
    async (request, reply) => {
      if (deps.metricsToken !== null) requireToken(request, deps.metricsToken)
      return reply.header('content-type', deps.metrics.contentType).send(await deps.metrics.read())
    },
  )
}

/** Hashes have one length, so the comparison takes the same time for every text. */
function requireToken({ headers }: FastifyRequest, token: string): void {
  const digest = (text: string) => createHash('sha256').update(text).digest()
  if (!timingSafeEqual(digest(headers.authorization ?? ''), digest(`Bearer ${token}`)))
    throw new ApiError('UNAUTHENTICATED', 'Metrics need the token of CARILLON_METRICS_TOKEN: Bearer TOKEN.')
}
