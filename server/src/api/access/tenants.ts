// /api/v1/tenants: the owners of jobs, and their tiers. For operators; a tenant may read its own record.
import {
  Tenant,
  TenantChange,
  TenantChanged,
  TenantList,
  TenantListQuery,
  TenantRequest,
  tierDefault,
} from '@carillon/contract/tenant.ts'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type * as domain from '../../domain/tenants/tenant.ts'
import type { StorePorts } from '../../ports/store.ts'
import type { TenantOutcome } from '../../ports/tenants.ts'
import type { World } from '../../ports/world.ts'
import { ApiError } from '../http/api-error.ts'
import { behindLast, limitOf, paginationOf, readIdCursor } from '../http/cursor.ts'
import { route } from '../http/route.ts'
import { readQueryWords } from '../http/words.ts'
import { answerWrite, postRoute, type WriteDeps, writeRoute } from '../http/write.ts'
import { tenantDeleted } from './deleted-tenant.ts'
import { findVisible } from './find-visible.ts'
import type { KeyCache } from './key-cache.ts'
import type { TenantCensus } from './tenant-census.ts'
import { aTenant, toTenant } from './tenant-view.ts'
import { excessOf } from './tier-excess.ts'

export interface TenantDeps extends WriteDeps, Pick<World, 'ids'>, Pick<StorePorts, 'tenants'> {
  keyCache: KeyCache
  census: TenantCensus
}

const tag = 'operations'
type TenantParams = { tenant_id: string }

export function tenantRoutes(app: FastifyInstance, deps: TenantDeps): void {
  const { ids, tenants, keyCache, census } = deps
  // After the commit and before the answer: the change already applies to every client that learns of it.
  const forget = async ({ params }: FastifyRequest<{ Params: TenantParams }>, reply: FastifyReply) => {
    if (reply.statusCode === 200) keyCache.forgetTenant(params.tenant_id.toLowerCase())
  }

  app.post<{ Body: TenantRequest }>(
    '/tenants',
    postRoute(tag, 'operator', 'Create a tenant', {
      description: 'Only for operators.',
      body: TenantRequest,
      created: Tenant,
    }),
    async (request, reply) => {
      const { name, tier = tierDefault } = request.body
      const answer = await answerWrite<Tenant>(deps, request, reply, async (stores) => {
        const outcome = await stores.tenants.create({ tenantId: ids.next(), name, tier })
        const tenant = requireWritten(outcome, { name, tier })
        const headers = { location: `/api/v1/tenants/${tenant.tenantId}` }
        return { status: 201, headers, body: toTenant(tenant) }
      })
      await census.count()
      return answer
    },
  )

  app.get<{ Querystring: TenantListQuery }>(
    '/tenants',
    route(tag, 'operator', 'The tenants, newest first', {
      description: 'Only for operators. Without `status`, or with ACTIVE: the tenants that are not deleted.',
      querystring: TenantListQuery,
      answer: TenantList,
      options: { preValidation: readQueryWords(TenantListQuery) },
    }),
    async ({ query }): Promise<TenantList> => {
      const before = readIdCursor('tenants', query)
      const page = await tenants.list({ before, limit: limitOf(query), deleted: query.status === 'DELETED' })
      const next = behindLast(page, page.tenants, (one) => one.tenantId)
      return {
        tenants: page.tenants.map(toTenant),
        pagination: paginationOf('tenants', query, { total: page.total, next }),
      }
    },
  )

  app.get<{ Params: TenantParams }>(
    '/tenants/:tenant_id',
    route(tag, 'read', 'One tenant, with the limits of its tier', {
      description: 'A tenant sees itself; operators see all, deleted and purged ones too.',
      querystring: {},
      answer: Tenant,
    }),
    async ({ caller, params }): Promise<Tenant> => {
      return toTenant(await findVisible(tenants, caller, params.tenant_id))
    },
  )

  app.patch<{ Params: TenantParams; Body: TenantChange }>(
    '/tenants/:tenant_id',
    writeRoute(tag, 'operator', 'Rename a tenant, or move it to another tier', {
      description:
        'Only for operators. Other servers see it within 5 s. After a change of the tier the answer names the limits that the tenant is beyond.',
      body: TenantChange,
      answer: TenantChanged,
      options: { onSend: forget },
    }),
    async (request, reply) => {
      const { params, body } = request
      const tenantId = aTenant.read(params.tenant_id)
      return answerWrite<TenantChanged>(deps, request, reply, async (stores) => {
        const outcome = await stores.tenants.change(tenantId, body)
        if (outcome === 'not_found') {
          const isThere = (await stores.tenants.get(tenantId)) !== null
          throw isThere ? tenantDeleted(tenantId) : aTenant.notFound(tenantId)
        }
        const tenant = requireWritten(outcome, body)
        if (body.tier === undefined) return { status: 200, body: toTenant(tenant) }
        const exceeding = excessOf(await stores.tiers.measure(tenantId, tenant.tier), tenant.tier)
        return { status: 200, body: { ...toTenant(tenant), exceeding } }
      })
    },
  )
}

function requireWritten(outcome: TenantOutcome, { name, tier }: TenantChange): domain.Tenant {
  if (outcome === 'name_taken') {
    const detail = 'is the name of another tenant'
    throw new ApiError('TENANT_NAME_TAKEN', `"${name}" ${detail}.`, [{ pointer: '/name', detail }])
  }
  if (outcome === 'unknown_tier') {
    const detail = 'must be the name of a tier'
    throw new ApiError('INVALID_REQUEST', `There is no tier "${tier}".`, [{ pointer: '/tier', detail }])
  }
  return outcome
}
