// GET /api/v1/events: the activity of a tenant, as server-sent events. A browser reads it by fetch, which can send our
// header.
import { EVENTS, EventsQuery } from '@carillon/contract/event.ts'
import type { FastifyInstance } from 'fastify'
import type { Executions } from '../../ports/executions.ts'
import type { Authenticate } from '../access/auth.ts'
import { ApiError } from '../http/api-error.ts'
import { anExecution } from '../http/path-id.ts'
import { route } from '../http/route.ts'
import type { EventHub } from './event-hub.ts'

export interface EventDeps {
  hub: EventHub
  authenticate: Authenticate
  executions: Pick<Executions, 'getExecution'>
}

export function eventRoutes(app: FastifyInstance, { hub, authenticate, executions }: EventDeps): void {
  app.get<{ Querystring: EventsQuery }>(
    '/events',
    route('executions', 'read', 'Events as a live stream', {
      description: `A stream of server-sent events; send \`Accept: text/event-stream\`. Once a second it sends all changes and a \`pulse\`. Each event has an \`id\`: reconnect within a minute with the last one in \`Last-Event-ID\` to miss nothing; otherwise a \`reset\` says that all data must be loaded again. The events are ${Object.keys(EVENTS).join(', ')}; docs/api.md shows their fields. At most 10 streams for a key, and 25 of a server for a tenant while there are others.`,
      querystring: EventsQuery,
      produces: ['text/event-stream'],
      response: {
        200: {
          description: 'The stream. It ends when the server stops or the key stops working.',
          content: { 'text/event-stream': { schema: { type: 'string' } } },
        },
      },
      options: { exposeHeadRoute: false },
    }),
    async (request, reply) => {
      const { tenantId, caller, headers, query } = request
      if (!/\btext\/event-stream\b/.test(headers.accept ?? ''))
        throw new ApiError('NOT_ACCEPTABLE', 'The response is an endless stream of events.')
      const watch = query.watch?.toLowerCase() ?? null
      if (watch !== null && (await executions.getExecution(tenantId, watch)) === null)
        throw anExecution.notFound(watch)
      const { keyId, operator } = caller
      // A client that has gone would never leave the place.
      if (reply.raw.closed) return reply.hijack()
      const place = hub.takePlace({ tenantId, keyId, operator })
      reply.hijack()
      const response = reply.raw
      for (const [name, value] of Object.entries(reply.getHeaders())) {
        if (value !== undefined) response.setHeader(name, value)
      }
      response.writeHead(200, {
        'content-type': 'text/event-stream; charset=utf-8',
        // A proxy that buffers the answer would hold events back.
        'x-accel-buffering': 'no',
      })
      const lastEventId = headers['last-event-id']
      hub.open({
        response,
        place,
        tenantId,
        keyId,
        watch,
        lastEventId: lastEventId === undefined ? null : String(lastEventId),
        check: () => authenticate(request),
      })
    },
  )
}
