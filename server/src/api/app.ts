// The HTTP API: bounds, authentication, problem documents, routes. Knows ports, no store.
import { Problem } from '@carillon/contract/problem.ts'
import swagger from '@fastify/swagger'
import fastify, { type FastifyInstance } from 'fastify'
import { LaneChooser } from '../domain/lane.ts'
import type { Clock } from '../ports/clock.ts'
import type { DeadLetters } from '../ports/dead-letters.ts'
import type { History } from '../ports/history.ts'
import type { Ids } from '../ports/ids.ts'
import type { Jobs } from '../ports/jobs.ts'
import type { Timers } from '../ports/timers.ts'
import type { Wakeup } from '../ports/wakeup.ts'
import type { Workers } from '../ports/workers.ts'
import { requestFinished } from '../telemetry/events.ts'
import { ApiError } from './api-error.ts'
import { decorateTenant, requireKey } from './auth.ts'
import { readJsonBody } from './json-body.ts'
import { openapiOptions } from './openapi.ts'
import { refuseConnection, refuseExpectation, refuseTunnel, sendNotFound, sendProblem } from './problem.ts'
import { deadLetterRoutes } from './routes/dead-letters.ts'
import { echoRoutes } from './routes/echo.ts'
import { executionRoutes } from './routes/executions.ts'
import { type HealthDeps, healthRoutes } from './routes/health.ts'
import { jobRoutes } from './routes/jobs.ts'
import { scheduleRoutes } from './routes/schedules.ts'
import { workerRoutes } from './routes/workers.ts'
import { createValidatorCompiler } from './validators.ts'

export interface AppDeps {
  clock: Clock
  timers: Timers
  ids: Ids
  jobs: Jobs
  history: History
  deadLetters: DeadLetters
  workers: Workers
  wakeup: Wakeup
  health: HealthDeps
  operatorKey: string
  /** The page at `/`. */
  homePage: string
  isStopping: () => boolean
}

const bodyBytesMax = 1024 * 1024
const headerBytesMax = 16 * 1024
const requestMsMax = 30_000
const connectionsMax = 10_000
const paramLengthMax = 256

export async function createApp(deps: AppDeps): Promise<FastifyInstance> {
  const app = fastify({
    bodyLimit: bodyBytesMax,
    requestTimeout: requestMsMax,
    keepAliveTimeout: 72_000,
    forceCloseConnections: 'idle',
    // Ours below answers with a problem document instead.
    return503OnClosing: false,
    routerOptions: { maxParamLength: paramLengthMax },
    http: { maxHeaderSize: headerBytesMax, requireHostHeader: false },
    frameworkErrors: (error, request, reply) => void sendProblem(error, request, reply),
    clientErrorHandler: refuseConnection,
  })
  app.server.maxConnections = connectionsMax
  app.server.on('connect', refuseTunnel)
  app.server.on('checkExpectation', refuseExpectation)
  app.setErrorHandler<Error>((error, request, reply) => sendProblem(error, request, reply))
  app.setNotFoundHandler(sendNotFound)
  app.setValidatorCompiler(createValidatorCompiler())
  app.removeAllContentTypeParsers()
  app.addContentTypeParser<Buffer>('application/json', { parseAs: 'buffer' }, (_request, body, done) => {
    try {
      done(null, readJsonBody(body))
    } catch (error) {
      done(error as Error)
    }
  })

  app.addHook('onRequest', async (request, reply) => {
    reply.header('x-content-type-options', 'nosniff')
    if (request.headers.host === undefined && request.raw.httpVersion === '1.1') {
      throw new ApiError('MALFORMED_REQUEST', 'The Host header is missing.')
    }
    if (deps.isStopping()) throw new ApiError('UNAVAILABLE', 'This server is stopping.')
  })
  app.addHook('onResponse', async (request, reply) => {
    const route = request.routeOptions.url ?? 'none'
    requestFinished.emit({
      method: request.method,
      route,
      status: reply.statusCode,
      tookMs: reply.elapsedTime,
    })
  })

  app.addSchema(Problem)
  await app.register(swagger, openapiOptions(deps.health.version))
  await app.register(async (open) => {
    healthRoutes(open, deps.health)
    open.get('/openapi.json', { schema: { hide: true } }, async () => app.swagger())
    open.get('/', { schema: { hide: true } }, async (_request, reply) =>
      reply.type('text/html').send(deps.homePage),
    )
    await open.register(async (echo) => echoRoutes(echo, deps))
  })
  await app.register(
    async (v1) => {
      const authenticate = requireKey(deps.operatorKey)
      const withLanes = { ...deps, lanes: new LaneChooser() }
      decorateTenant(v1)
      v1.addHook('onRequest', async (request, reply) => {
        authenticate(request)
        reply.header('cache-control', 'no-store')
      })
      jobRoutes(v1, withLanes)
      executionRoutes(v1, deps)
      deadLetterRoutes(v1, withLanes)
      scheduleRoutes(v1, deps)
      workerRoutes(v1, deps)
    },
    { prefix: '/api/v1' },
  )
  return app
}
