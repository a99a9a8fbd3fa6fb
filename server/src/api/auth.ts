// Bearer keys, and the tenant that a key acts for. Only hashes are compared, the operator key's in constant time, so
// neither memory nor timing gives a key away.
import { timingSafeEqual } from 'node:crypto'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { expandScopes, hashKey, isWholeApiKey, SCOPES, type Scope } from '../domain/api-key.ts'
import { defaultTenantId, type Tier } from '../domain/tenant.ts'
import { toRfc3339 } from '../lib/epoch.ts'
import type { FoundKey } from '../ports/api-keys.ts'
import type { Clock } from '../ports/clock.ts'
import { ApiError } from './api-error.ts'
import type { KnownKeys } from './known-keys.ts'
import { readId } from './path-id.ts'

/** Who calls, for whom, and what it may do. */
export interface Caller {
  tenantId: string
  /** Of that tenant. */
  tier: Tier
  scopes: ReadonlySet<Scope>
  /** May act for any tenant, and operate the installation. */
  operator: boolean
  /** Of the key. */
  name: string
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Whose jobs the request is about. Set by its key and by nothing else. */
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
  knownKeys: KnownKeys
  /** The bootstrap key: any text. It works before there is any other, and cannot be revoked. */
  operatorKey: string
}

export type Authenticate = (request: FastifyRequest) => Promise<void>

export function requireKey(deps: AuthDeps): Authenticate {
  const { clock, knownKeys } = deps
  const operatorHash = hashKey(deps.operatorKey)
  return async (request) => {
    const key = readBearer(request)
    if (timingSafeEqual(hashKey(key), operatorHash)) {
      request.caller = await actForTenant(request, knownKeys, { name: 'operator', scopes: SCOPES })
    } else {
      const found = requireUsable(await findKey(knownKeys, key), clock)
      knownKeys.noteUse(found.keyId)
      request.caller = await callerOf(request, knownKeys, found)
    }
    request.tenantId = request.caller.tenantId
  }
}

/** A tenant's key may name its own tenant, and no other. */
export function checkTenant({ headers, caller }: FastifyRequest): void {
  const named = headers['x-tenant-id']
  if (named === undefined || String(named).toLowerCase() === caller.tenantId) return
  throw new ApiError('TENANT_MISMATCH', 'X-Tenant-ID names another tenant than that of the API key.')
}

function readBearer(request: FastifyRequest): string {
  const { authorization } = request.headers
  if (authorization === undefined) throw unauthenticated('The Authorization header is missing.')
  const [scheme, key, ...more] = authorization.split(' ')
  if (scheme!.toLowerCase() !== 'bearer' || key === undefined || key === '' || more.length > 0) {
    throw unauthenticated('The Authorization header is not of the form `Bearer KEY`.')
  }
  return key
}

async function findKey(knownKeys: KnownKeys, key: string): Promise<FoundKey> {
  if (!isWholeApiKey(key)) {
    const ours = key.startsWith('crl_')
    throw unauthenticated(
      ours ? 'The API key is damaged: its checksum does not fit.' : 'The API key is not known.',
    )
  }
  const found = await knownKeys.findKey(key)
  if (found === null) throw unauthenticated('The API key is not known.')
  return found
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

async function callerOf(request: FastifyRequest, knownKeys: KnownKeys, key: FoundKey): Promise<Caller> {
  const { tenant, name, scopes } = key
  if (tenant === null) return actForTenant(request, knownKeys, key)
  return { ...tenant, scopes: expandScopes(scopes), operator: false, name }
}

/** An operator acts for the tenant it names, or else for the default one. */
async function actForTenant(
  { headers }: FastifyRequest,
  knownKeys: KnownKeys,
  { name, scopes }: Pick<FoundKey, 'name' | 'scopes'>,
): Promise<Caller> {
  const named = String(headers['x-tenant-id'] ?? defaultTenantId)
  const tenantId = readId(named)
  const tenant = tenantId === null ? null : await knownKeys.findTenant(tenantId)
  if (tenant === null) throw tenantNotFound(named)
  return {
    tenantId: tenant.tenantId,
    tier: tenant.tier,
    scopes: expandScopes(scopes),
    operator: true,
    name,
  }
}

export function tenantNotFound(given: string): ApiError {
  return new ApiError('TENANT_NOT_FOUND', `There is no tenant ${given.slice(0, 64)}.`)
}

function unauthenticated(detail: string): ApiError {
  return new ApiError('UNAUTHENTICATED', detail)
}
