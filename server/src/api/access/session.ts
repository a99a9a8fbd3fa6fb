// /api/v1/session: log in with a key or the code of a one-time link, show the current identity, log out. A key is
// received once and never sent back: the browser keeps a cookie that no script can read.
import { Session, SessionCode, SessionRequest } from '@carillon/contract/session.ts'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { hashKey, SCOPES } from '../../domain/access/api-key.ts'
import { sessionMs } from '../../domain/access/session.ts'
import { toRfc3339 } from '../../lib/time/epoch.ts'
import { takeNoBody } from '../http/json-body.ts'
import { refuseDeleteBody } from '../http/problem.ts'
import { noFields, noParameters, problemResponses, route } from '../http/route.ts'
import {
  type AuthDeps,
  type Caller,
  identifyKeys,
  readBearer,
  requireWhole,
  unauthenticated,
} from './auth.ts'
import type { KeyCache } from './key-cache.ts'
import {
  readSessionCookie,
  refuseForeignOrigin,
  requireOwnPage,
  writeSessionCookie,
} from './session-cookie.ts'

const tag = 'operations'

/** Log in and out: without a key. */
export function sessionDoorRoutes(app: FastifyInstance, deps: AuthDeps): void {
  const { sessionCache, wrongKeys, cookieName, publicUrl } = deps
  const identify = identifyKeys(deps)
  app.addHook('onRequest', async (_request, reply) => {
    reply.header('cache-control', 'no-store')
  })
  app.addHook('preValidation', refuseDeleteBody)

  app.post<{ Body: SessionRequest }>(
    '/session',
    {
      onRequest: async (request) => {
        refuseForeignOrigin(request, publicUrl)
        wrongKeys.boundLogIn(request.ip)
      },
      schema: {
        tags: [tag],
        summary: 'Log in: a cookie instead of a key',
        description:
          'For browsers. Sets a cookie whose name begins with `carillon_session` (HttpOnly, SameSite=Strict), which lasts 7 days and is accepted only with the header `X-Carillon-Client: dashboard`. Programs send their key instead.',
        querystring: noParameters,
        body: SessionRequest,
        response: { 200: Session, ...problemResponses },
      },
    },
    async (request, reply): Promise<Session> => {
      const keyHash = await keyHashOf(deps, request.body)
      const caller = await identify(request, keyHash)
      const former = await readSessionCookie(request, cookieName)
      if (former !== null) await sessionCache.close(former)
      const opened = { name: await cookieName(), value: await sessionCache.open(keyHash), forMs: sessionMs }
      reply.header('set-cookie', writeSessionCookie(request, opened))
      return toSession(deps.keyCache, caller)
    },
  )

  app.delete(
    '/session',
    {
      schema: {
        tags: [tag],
        summary: 'Log out',
        description: 'Ends the session and removes the cookie. Succeeds without a session too.',
        querystring: noParameters,
        response: {
          204: { type: 'null', description: 'There is no session any more.' },
          ...problemResponses,
        },
      },
    },
    async (request, reply) => {
      const cookie = await readSessionCookie(request, cookieName)
      if (cookie !== null) {
        requireOwnPage(request, publicUrl)
        await sessionCache.close(cookie)
      }
      return reply
        .code(204)
        .header('set-cookie', writeSessionCookie(request, { name: await cookieName(), value: '', forMs: 0 }))
        .send(null)
    },
  )
}

export function sessionRoutes(
  app: FastifyInstance,
  deps: Pick<AuthDeps, 'keyCache' | 'sessionCache' | 'cookieName' | 'publicUrl'>,
): void {
  const { sessionCache } = deps
  app.post(
    '/session/code',
    route(tag, 'any', 'Make a one-time code that logs in', {
      description:
        'For links to the dashboard, as `carillon login-link` prints them: `/#code=CODE` logs in one browser within 15 minutes, with the rights of the key of this request. A key has at most 20 unused codes; a further one voids the oldest.',
      body: noFields,
      response: { 201: SessionCode },
      options: { preValidation: takeNoBody },
    }),
    async (request, reply): Promise<SessionCode> => {
      const { code, expiresAt } = await sessionCache.makeCode(await ownKeyHash(request, deps))
      reply.code(201).header('cache-control', 'no-store')
      return { code, expires_at: toRfc3339(expiresAt), url: deps.publicUrl }
    },
  )

  app.get(
    '/session',
    route(tag, 'any', 'The caller, its tenant and its rights', {
      description: 'For a session and for every key.',
      answer: Session,
    }),
    ({ caller }) => toSession(deps.keyCache, caller),
  )
}

/** The hash of the key that the caller showed, or that its session stands for. */
async function ownKeyHash(
  request: FastifyRequest,
  { sessionCache, cookieName }: Pick<AuthDeps, 'sessionCache' | 'cookieName'>,
): Promise<Uint8Array> {
  if (request.headers.authorization !== undefined) return hashKey(readBearer(request))
  const cookie = await readSessionCookie(request, cookieName)
  const keyHash = cookie === null ? null : await sessionCache.findKeyHash(cookie)
  if (keyHash === null) throw unauthenticated('The session has ended. Log in again.')
  return keyHash
}

async function keyHashOf(
  { sessionCache, operatorKey }: AuthDeps,
  { key, code }: SessionRequest,
): Promise<Uint8Array> {
  if (key !== undefined) {
    // Constant time where it matters: the lookup that follows compares hashes.
    if (!hashKey(key).equals(hashKey(operatorKey))) requireWhole(key)
    return hashKey(key)
  }
  const keyHash = await sessionCache.useCode(code!)
  if (keyHash === null)
    throw unauthenticated('The link was used already, or is older than 15 minutes. Log in with a key.')
  return keyHash
}

async function toSession(keyCache: KeyCache, caller: Caller): Promise<Session> {
  const { tenantId, operator, scopes, name, keyId } = caller
  const tenant = await keyCache.findTenant(tenantId)
  return {
    tenant: { tenant_id: tenantId, name: tenant?.name ?? '' },
    operator,
    scopes: SCOPES.filter((scope) => scopes.has(scope)),
    key_name: keyId === null ? null : name,
  }
}
