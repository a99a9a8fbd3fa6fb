// /echo: a target to try jobs on. Answers with the request it received; on request it is slow or fails, so that retries
// and timeouts can be watched without writing a receiver.

import { Echo, EchoQuery } from '@carillon/contract/echo.ts'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Timers } from '../../ports/timers.ts'
import { closeSignal } from './close-signal.ts'
import { problemResponses } from './route.ts'

export async function echoRoutes(app: FastifyInstance, deps: { timers: Timers }): Promise<void> {
  // Here every body is read as bytes, regardless of its content type.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))

  app.route<{ Querystring: EchoQuery }>({
    method: ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'],
    url: '/echo',
    schema: {
      tags: ['health'],
      summary: 'A target for trial jobs: responds with the request that it got',
      querystring: EchoQuery,
      response: { 200: Echo, ...problemResponses },
    },
    async handler(request, reply) {
      const { status = 200, delay_ms: delayMs = 0 } = request.query
      if (delayMs > 0) await deps.timers.wait(delayMs, closeSignal(reply))
      const body = Buffer.isBuffer(request.body) ? request.body.toString() : ''
      const echo = { method: request.method, path: request.url, headers: headersOf(request), body }
      return reply.code(status).type('application/json').serializer(JSON.stringify).send(echo)
    },
  })
}

/** Names of headers with credentials, of jobs, of browsers that come by and of our own calls: their values are not shown. */
const credentials =
  /(^|-)(auth|authorization|cookie|credentials?|password|secret|signature|token|(api|access|private)-?key)(-|$)/

function headersOf(request: FastifyRequest): Record<string, string> {
  return Object.fromEntries(
    Object.entries(request.headers).map(([name, value]) => [
      name,
      credentials.test(name) ? '***' : String(value),
    ]),
  )
}
