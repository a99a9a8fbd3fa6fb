// The HTTP server of a process without the api role: /livez, /readyz and /metrics for Kubernetes and Prometheus, with the
// bounds, the refusals and the absence of a key that these have in the API. Every other path is a 404.
import { Problem } from '@carillon/contract/problem.ts'
import type { FastifyInstance } from 'fastify'
import { type BaseAppOptions, createBaseApp } from './http/base-app.ts'
import { type HealthDeps, healthRoutes } from './http/health.ts'

export interface ProbeAppDeps extends Pick<BaseAppOptions, 'hosts'> {
  health: HealthDeps
  isStopping: () => boolean
}

export function createProbeApp({ health, hosts, isStopping }: ProbeAppDeps): FastifyInstance {
  const app = createBaseApp({ isStopping, hosts })
  app.addSchema(Problem)
  healthRoutes(app, health)
  return app
}
