// Tells a handler that its client went away.
import type { FastifyReply } from 'fastify'

/** Aborts when the client goes away: by the end of the response, not of its connection, which may serve many more. */
export function closeSignal(reply: FastifyReply): AbortSignal {
  const closed = new AbortController()
  reply.raw.once('close', () => closed.abort())
  return closed.signal
}
