// The methods that each path of the app answers, learnt from the routes as they are registered, so that a wrong
// method on a known path is refused with 405 and an Allow header instead of 404.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { ApiError } from './api-error.ts'
import { pathOf, sendProblem } from './problem.ts'

export type Answer = (request: FastifyRequest, reply: FastifyReply) => FastifyReply

/** HEAD is answered wherever GET is, and nothing answers OPTIONS: either one elsewhere stays a 404. */
const neverRefused: ReadonlySet<string> = new Set(['HEAD', 'OPTIONS'])

/** Call it before the first route is registered. Answers 405 on a known path, and `notFound` on any other. */
export function refuseWrongMethods(app: FastifyInstance, notFound: Answer): Answer {
  const routes: { pattern: RegExp; methods: readonly string[] }[] = []
  app.addHook('onRoute', ({ url, method }) => {
    routes.push({ pattern: toPattern(url), methods: [method].flat() })
  })
  return (request, reply) => {
    const path = decode(pathOf(request))
    const known = routes.filter(({ pattern }) => pattern.test(path)).flatMap(({ methods }) => methods)
    // A route may itself answer that there is nothing: a file of the dashboard that was not built.
    const isWrong = known.length > 0 && !known.includes(request.method) && !neverRefused.has(request.method)
    if (!isWrong) return notFound(request, reply)
    const allowed = [...new Set(known)].toSorted().join(', ')
    reply.header('allow', allowed)
    const detail = `${path.slice(0, 200)} does not answer ${request.method}; it answers ${allowed}.`
    return sendProblem(new ApiError('METHOD_NOT_ALLOWED', detail), request, reply)
  }
}

function toPattern(url: string): RegExp {
  const segments = url.split('/').map((segment) => {
    if (segment.startsWith(':')) return '[^/]*'
    return segment === '*' ? '.*' : RegExp.escape(segment)
  })
  return new RegExp(`^${segments.join('/')}$`)
}

/** An encoded slash is part of a parameter, so it stays encoded. */
function decode(path: string): string {
  try {
    return decodeURI(path)
  } catch {
    return path
  }
}
