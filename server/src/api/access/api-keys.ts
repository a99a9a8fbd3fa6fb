// /api/v1/api-keys: the keys that may call in the name of the tenant. A key appears in the answer to the call that
// created it and nowhere else; its hash appears in no answer at all.
import {
  ApiKey,
  ApiKeyChange,
  ApiKeyList,
  ApiKeyListQuery,
  ApiKeyRequest,
  CreatedApiKey,
} from '@carillon/contract/api-key.ts'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { apiKeyBytes, formatApiKey, hashKey, lackedScopes, prefixOf } from '../../domain/access/api-key.ts'
import { readInstant } from '../../domain/schedule/instant.ts'
import { type EpochMs, epochMs, toRfc3339, toRfc3339OrNull } from '../../lib/time/epoch.ts'
import type { ApiKeyChanges, KeyOwner, ApiKey as StoredKey } from '../../ports/api-keys.ts'
import type { Clock } from '../../ports/clock.ts'
import type { StorePorts } from '../../ports/store.ts'
import type { World } from '../../ports/world.ts'
import { ApiError } from '../http/api-error.ts'
import { behindLast, limitOf, paginationOf, readIdCursor } from '../http/cursor.ts'
import { readId } from '../http/path-id.ts'
import { refuseField } from '../http/problem.ts'
import { route } from '../http/route.ts'
import { readBodyWords } from '../http/words.ts'
import { answerWrite, postRoute, type WriteDeps, writeRoute } from '../http/write.ts'
import type { Caller } from './auth.ts'
import type { KeyCache } from './key-cache.ts'

export interface ApiKeyDeps
  extends WriteDeps,
    Pick<World, 'clock' | 'ids' | 'random'>,
    Pick<StorePorts, 'apiKeys'> {
  keyCache: KeyCache
}

const tag = 'operations'
type KeyParams = { key_id: string }

export function apiKeyRoutes(app: FastifyInstance, deps: ApiKeyDeps): void {
  const { clock, ids, random, apiKeys, keyCache } = deps
  /**
   * Keys created by requests that are being answered: the answer stored for a repeated request must not contain them.
   */
  const madeKeys = new WeakMap<FastifyRequest, string>()
  const addMadeKey = async (request: FastifyRequest, reply: FastifyReply, payload: unknown) => {
    const key = madeKeys.get(request)
    return key === undefined || reply.statusCode !== 201 ? payload : addKey(String(payload), key)
  }
  // After the commit and before the answer: the change already applies to every client that learns of it.
  const forget = async ({ params }: FastifyRequest<{ Params: KeyParams }>, reply: FastifyReply) => {
    if (reply.statusCode < 300) keyCache.forgetKey(params.key_id.toLowerCase())
  }

  app.post<{ Body: ApiKeyRequest }>(
    '/api-keys',
    postRoute(tag, 'admin', 'Create an API key', {
      description:
        'The response contains the key. It is never shown again, not even in the repeated response to an `Idempotency-Key`.',
      body: ApiKeyRequest,
      created: CreatedApiKey,
      options: { preValidation: readBodyWords(ApiKeyRequest), onSend: addMadeKey },
    }),
    async (request, reply) => {
      const { caller, body } = request
      const { name, scopes, operator = false, expires_at: expires } = body
      const tenantId = ownerFor(caller, operator)
      const [lacked] = lackedScopes(caller.scopes, scopes)
      if (lacked !== undefined) {
        throw new ApiError('SCOPE_MISSING', `The API key lacks the scope ${lacked}, so it cannot grant it.`)
      }
      const expiresAt = expires === undefined ? null : readExpiry(expires, clock)
      return answerWrite<CreatedApiKey>(deps, request, reply, async (stores) => {
        const key = formatApiKey(random.bytes(apiKeyBytes))
        const made = await stores.apiKeys.create({
          keyId: ids.next(),
          tenantId,
          name,
          prefix: prefixOf(key),
          hash: hashKey(key),
          scopes,
          createdBy: caller.name,
          expiresAt,
        })
        if (made === 'too_many') {
          throw new ApiError('TOO_MANY_API_KEYS', 'The tenant has 1,000 keys that are not revoked.')
        }
        madeKeys.set(request, key)
        const headers = { location: `/api/v1/api-keys/${made.keyId}` }
        return { status: 201, headers, body: toApiKey(made) }
      })
    },
  )

  app.get<{ Querystring: ApiKeyListQuery }>(
    '/api-keys',
    route(tag, 'admin', 'The API keys of the tenant, newest first', {
      description: 'Including revoked and expired keys.',
      querystring: ApiKeyListQuery,
      answer: ApiKeyList,
    }),
    async ({ caller, query }): Promise<ApiKeyList> => {
      const tenantId = ownerFor(caller, query.operator ?? false)
      const before = readIdCursor('api_keys', query)
      const page = await apiKeys.list({ tenantId, before, limit: limitOf(query) })
      const next = behindLast(page, page.keys, (one) => one.keyId)
      return {
        api_keys: page.keys.map(toApiKey),
        pagination: paginationOf('api_keys', query, { total: page.total, next }),
      }
    },
  )

  app.get<{ Params: KeyParams }>(
    '/api-keys/:key_id',
    route(tag, 'admin', 'One API key, without its secret', { querystring: {}, answer: ApiKey }),
    async ({ caller, params }): Promise<ApiKey> => {
      const keyId = readKeyId(params)
      const key = await apiKeys.get(ownersFor(caller), keyId)
      if (key === null) throw notFound(keyId)
      return toApiKey(key)
    },
  )

  app.patch<{ Params: KeyParams; Body: ApiKeyChange }>(
    '/api-keys/:key_id',
    writeRoute(tag, 'admin', 'Rename an API key, or change its expiry', {
      description: 'Scopes cannot be changed: create another key. Other servers apply the change within 5 s.',
      body: ApiKeyChange,
      answer: ApiKey,
      options: { onSend: forget },
    }),
    async (request, reply) => {
      const keyId = readKeyId(request.params)
      const changes = readChanges(request.body, clock)
      return answerWrite<ApiKey>(deps, request, reply, async (stores) => {
        const key = await stores.apiKeys.change(ownersFor(request.caller), keyId, changes)
        if (key === null) throw notFound(keyId)
        return { status: 200, body: toApiKey(key) }
      })
    },
  )

  app.delete<{ Params: KeyParams }>(
    '/api-keys/:key_id',
    writeRoute(tag, 'admin', 'Revoke an API key', {
      description: 'Permanently. On this server at once, on other servers within 5 s.',
      gone: 'It is revoked.',
      options: { onSend: forget },
    }),
    async (request, reply) => {
      const keyId = readKeyId(request.params)
      return answerWrite<null>(deps, request, reply, async (stores) => {
        const outcome = await stores.apiKeys.revoke(ownersFor(request.caller), keyId)
        if (outcome === 'not_found') throw notFound(keyId)
        return { status: 204, body: null }
      })
    },
  )
}

/** Into the answer that is sent, not into the one that is kept. */
function addKey(json: string, key: string): string {
  return JSON.stringify({ ...JSON.parse(json), key })
}

function readKeyId({ key_id: given }: KeyParams): string {
  const keyId = readId(given)
  if (keyId === null) throw notFound(given)
  return keyId
}

/** The owner of the keys that are created or listed. */
function ownerFor(caller: Caller, operator: boolean): KeyOwner {
  if (!operator) return caller.tenantId
  if (!caller.operator) throw new ApiError('OPERATOR_ONLY', 'Only operators may use the keys of operators.')
  return null
}

/** The owners of the keys that can be reached by their ids. */
function ownersFor({ tenantId, operator }: Caller): KeyOwner[] {
  return operator ? [tenantId, null] : [tenantId]
}

function readChanges({ name, expires_at: expires }: ApiKeyChange, clock: Clock): ApiKeyChanges {
  return {
    ...(name !== undefined && { name }),
    ...(expires !== undefined && { expiresAt: expires === null ? null : readExpiry(expires, clock) }),
  }
}

function readExpiry(text: string, clock: Clock): EpochMs {
  const instant = readInstant(text, 'expires_at', null)
  const at = instant.ok ? epochMs(instant.value * 1_000) : null
  if (at !== null && at > clock.databaseNow()) return at
  throw refuseField('/expires_at', 'must be an instant in the future, such as 2030-01-31T09:00:00Z')
}

function notFound(given: string): ApiError {
  // Somebody may have sent a key where its id belongs; an answer may end up in a log.
  const shown = given.startsWith('crl_') ? 'of this id' : given.slice(0, 64)
  return new ApiError('API_KEY_NOT_FOUND', `There is no API key ${shown}.`)
}

function toApiKey(key: StoredKey): ApiKey {
  return {
    key_id: key.keyId,
    tenant_id: key.tenantId,
    name: key.name,
    prefix: key.prefix,
    scopes: [...key.scopes],
    created_at: toRfc3339(key.createdAt),
    created_by: key.createdBy,
    expires_at: toRfc3339OrNull(key.expiresAt),
    revoked_at: toRfc3339OrNull(key.revokedAt),
    last_used_at: toRfc3339OrNull(key.lastUsedAt),
  }
}
