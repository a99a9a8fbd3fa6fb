// Bearer keys, sessions that stand for one, and the tenant that a key acts for. Only hashes are compared, the operator key's in constant time, so
// neither memory nor timing gives a key away.
import { timingSafeEqual } from 'node:crypto'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { expandScopes, hashKey, isWholeApiKey, SCOPES, type Scope } from '../../domain/access/api-key.ts'
import { defaultTenantId, type Tier } from '../../domain/tenants/tenant.ts'
import { toRfc3339 } from '../../lib/time/epoch.ts'
import type { FoundKey } from '../../ports/api-keys.ts'
import type { Clock } from '../../ports/clock.ts'
import { ApiError } from '../http/api-error.ts'
import { readId } from '../http/path-id.ts'
import { endsRunningWork } from './deleted-tenant.ts'
import type { KeyCache } from './key-cache.ts'
import type { SessionCache } from './session-cache.ts'
import { type CookieName, readSessionCookie, requireOwnPage } from './session-cookie.ts'
import { aTenant } from './tenant-view.ts'
import type { WrongKeys } from './wrong-keys.ts'

/** The caller of a request: its identity, its tenant and its rights. */
export interface Caller {
  tenantId: string
  /** Of that tenant. */
  tier: Tier
  scopes: ReadonlySet<Scope>
  /** May act for any tenant, and operate the installation. */
  operator: boolean
  /** Of the key. */
  name: string
  /** Null: the operator key of the installation. */
  keyId: string | null
  /** An operator that acts for a deleted tenant. Absent: no. */
  actsForDeleted?: true
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The tenant that the request is about. Set by its key and by nothing else. */
    tenantId: string
    caller: Caller
  }
}

export function decorateCaller(app: FastifyInstance): void {
  app.decorateRequest('tenantId', '')
  app.decorateRequest('caller')
}

export interface AuthDeps {
  clock: Clock
  keyCache: KeyCache
  sessionCache: SessionCache
  wrongKeys: WrongKeys
  cookieName: CookieName
  /** The bootstrap key: any text. It works before there is any other, and cannot be revoked. */
  operatorKey: string
  /** Where browsers reach the API; null: where they say so. */
  publicUrl: string | null
}

export type Authenticate = (request: FastifyRequest) => Promise<void>

export function requireKey(deps: AuthDeps): Authenticate {
  const { keyCache, sessionCache, wrongKeys, cookieName, publicUrl } = deps
  const callerOfHash = identifyKeys(deps)
  const operatorHash = hashKey(deps.operatorKey)
  const identifyKey = (request: FastifyRequest, key: string, keyHash: Uint8Array) => {
    // A text that is no key at all is refused without a lookup.
    if (!timingSafeEqual(keyHash, operatorHash)) requireWhole(key)
    return callerOfHash(request, keyHash)
  }
  const identifySession = async (request: FastifyRequest, cookie: string) => {
    const keyHash = await sessionCache.findKeyHash(cookie)
    if (keyHash === null) throw unauthenticated('The session has ended. Log in again.')
    return callerOfHash(request, keyHash)
  }
  return async (request) => {
    const hasKey = request.headers.authorization !== undefined
    const cookie = hasKey ? null : await readSessionCookie(request, cookieName)
    if (cookie === null) {
      const key = readBearer(request)
      const keyHash = hashKey(key)
      request.caller = await wrongKeys.bound(request.ip, keyHash, async () =>
        identifyKey(request, key, keyHash),
      )
    } else {
      requireOwnPage(request, publicUrl)
      request.caller = await wrongKeys.bound(request.ip, hashKey(cookie), () =>
        identifySession(request, cookie),
      )
    }
    if (request.caller.keyId !== null) keyCache.noteUse(request.caller.keyId)
    request.tenantId = request.caller.tenantId
  }
}

export type IdentifyKey = (request: FastifyRequest, keyHash: Uint8Array) => Promise<Caller>

/** Identifies the caller by the hash of its key. */
export function identifyKeys({
  clock,
  keyCache,
  operatorKey,
}: Pick<AuthDeps, 'clock' | 'keyCache' | 'operatorKey'>): IdentifyKey {
  const operatorHash = hashKey(operatorKey)
  return async (request, keyHash) => {
    if (timingSafeEqual(keyHash, operatorHash)) {
      return actForTenant(request, keyCache, { name: 'operator', scopes: SCOPES, keyId: null })
    }
    const found = await keyCache.findKey(keyHash)
    if (found === null) throw unauthenticated('The API key is not known.')
    return callerOf(request, keyCache, requireUsable(found, clock))
  }
}

/** A tenant's key may name its own tenant, and no other. */
export function checkTenant({ headers, caller }: FastifyRequest): void {
  const named = headers['x-tenant-id']
  if (named === undefined || String(named).toLowerCase() === caller.tenantId) return
  throw new ApiError('TENANT_MISMATCH', 'X-Tenant-ID does not name the tenant of the API key.')
}

export function readBearer(request: FastifyRequest): string {
  const { authorization } = request.headers
  if (authorization === undefined) throw unauthenticated('The Authorization header is missing.')
  const [scheme, key, ...more] = authorization.split(' ')
  if (scheme!.toLowerCase() !== 'bearer' || key === undefined || key === '' || more.length > 0) {
    throw unauthenticated('The Authorization header is not of the form `Bearer KEY`.')
  }
  return key
}

export function requireWhole(key: string): void {
  if (isWholeApiKey(key)) return
  const ours = key.startsWith('crl_')
  throw unauthenticated(ours ? 'This does not look like a complete API key.' : 'The API key is not known.')
}

function requireUsable(key: FoundKey, clock: Clock): FoundKey {
  const { revokedAt, expiresAt } = key
  if (revokedAt !== null) throw unauthenticated(`The API key was revoked at ${toRfc3339(revokedAt)}.`)
  // On the clock and not in the lookup: a remembered key expires in time too.
  if (expiresAt !== null && expiresAt <= clock.databaseNow()) {
    throw unauthenticated(`The API key expired at ${toRfc3339(expiresAt)}.`)
  }
  return key
}

async function callerOf(request: FastifyRequest, keyCache: KeyCache, key: FoundKey): Promise<Caller> {
  const { tenant, name, scopes, keyId } = key
  if (tenant === null) return actForTenant(request, keyCache, key)
  const { tenantId, tier, isDeleted } = tenant
  if (isDeleted && !endsRunningWork(request)) throw unauthenticated('The tenant of the API key was deleted.')
  return { tenantId, tier, scopes: expandScopes(scopes), operator: false, name, keyId }
}

/** An operator acts for the tenant it names, or else for the default one. */
async function actForTenant(
  { headers }: FastifyRequest,
  keyCache: KeyCache,
  { name, scopes, keyId }: Pick<FoundKey, 'name' | 'scopes'> & Pick<Caller, 'keyId'>,
): Promise<Caller> {
  const asked = String(headers['x-tenant-id'] ?? defaultTenantId)
  const tenantId = readId(asked)
  const tenant = tenantId === null ? null : await keyCache.findTenant(tenantId)
  const { tenantId: actsFor, tier, deletedAt } = aTenant.found(tenant, asked)
  const acts = { tenantId: actsFor, tier, scopes: expandScopes(scopes), operator: true, name, keyId }
  return deletedAt === null ? acts : { ...acts, actsForDeleted: true }
}

export function unauthenticated(detail: string): ApiError {
  return new ApiError('UNAUTHENTICATED', detail)
}
