// An HTTP server with the bounds and refusals that every one of ours has: sizes, times, problem documents for every bad
// request, 405 for a wrong method, 503 while it stops. It has no routes yet.
import fastify, { type FastifyInstance } from 'fastify'
import { readOpenFilesMax } from '../../lib/open-files.ts'
import { requestFinished } from '../../telemetry/events.ts'
import { type Answer, refuseWrongMethods } from './allowed-methods.ts'
import { ApiError } from './api-error.ts'
import { isOnDrainAllowlist } from './drain-allowlist.ts'
import { parseJsonBody } from './json-body.ts'
import { checkHost, type OwnHosts } from './own-hosts.ts'
import { refuseConnection, refuseExpectation, refuseTunnel, sendNotFound, sendProblem } from './problem.ts'
import { buildSerializer } from './serializers.ts'
import { createValidatorCompiler } from './validators.ts'

export interface BaseAppOptions {
  isStopping: () => boolean
  /** Answers some of the paths that no route has. Default: all of them are a 404. */
  wrapNotFound?: (notFound: Answer) => Answer
  /** The only names it answers to; null: to all. */
  hosts: OwnHosts | null
  /** Networks whose X-Forwarded-For names the client. Default: the address of the connection is the client's. */
  trustedProxies?: readonly string[]
}

const bodyBytesMax = 1024 * 1024
const headerBytesMax = 16 * 1024
const requestMsMax = 30_000
/** 10,000 workers of users wait for executions on one connection each, and beat and report on another. */
const connectionsMax = 25_000
/** Of the file descriptors of the process: clients that leave connections open must not take the ones of calls to targets. */
const connectionsShare = 1 / 2
const paramLengthMax = 256

export function createBaseApp(options: BaseAppOptions): FastifyInstance {
  const { isStopping, hosts, wrapNotFound = (one) => one, trustedProxies = [] } = options
  const app = fastify({
    bodyLimit: bodyBytesMax,
    trustProxy: trustedProxies.length === 0 ? false : [...trustedProxies],
    requestTimeout: requestMsMax,
    keepAliveTimeout: 72_000,
    forceCloseConnections: 'idle',
    // Ours below answers with a problem document instead.
    return503OnClosing: false,
    routerOptions: { maxParamLength: paramLengthMax },
    schemaController: { compilersFactory: { buildSerializer } },
    http: {
      maxHeaderSize: headerBytesMax,
      requireHostHeader: false,
      // How often slow requests are looked for; by default every 30 s, which would double the limit.
      connectionsCheckingInterval: requestMsMax / 15,
    },
    frameworkErrors: (error, request, reply) => void sendProblem(error, request, reply),
    clientErrorHandler: refuseConnection,
  })
  app.server.maxConnections = Math.min(connectionsMax, Math.floor(readOpenFilesMax() * connectionsShare))
  app.server.on('connect', refuseTunnel)
  app.server.on('checkExpectation', refuseExpectation)
  app.setErrorHandler<Error>((error, request, reply) => sendProblem(error, request, reply))
  app.setNotFoundHandler(wrapNotFound(refuseWrongMethods(app, sendNotFound)))
  app.setValidatorCompiler(createValidatorCompiler())
  app.removeAllContentTypeParsers()
  app.addContentTypeParser<Buffer>('application/json', { parseAs: 'buffer' }, parseJsonBody)

  app.addHook('onRequest', async (request, reply) => {
    reply.header('x-content-type-options', 'nosniff')
    if (request.headers.host === undefined && request.raw.httpVersion === '1.1') {
      throw new ApiError('MALFORMED_REQUEST', 'The Host header is missing.')
    }
    if (hosts !== null) checkHost(request, hosts)
    if (isStopping() && !isOnDrainAllowlist(request))
      throw new ApiError('UNAVAILABLE', 'This server is stopping.')
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
  return app
}
