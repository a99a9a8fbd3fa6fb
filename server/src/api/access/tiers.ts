// /api/v1/tiers: the plans that tenants are on. For operators.
import { Tier, TierChanged, TierList, TierRequest, tierNameForm } from '@carillon/contract/tenant.ts'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { tiersMax } from '../../domain/tenants/tenant.ts'
import type { StorePorts } from '../../ports/store.ts'
import type { World } from '../../ports/world.ts'
import { ApiError } from '../http/api-error.ts'
import { named } from '../http/path-id.ts'
import { route } from '../http/route.ts'
import { answerWrite, type WriteDeps, writeRoute } from '../http/write.ts'
import type { KeyCache } from './key-cache.ts'
import { findExceeding } from './tier-excess.ts'
import { fromTierRequest, toTier } from './tier-view.ts'

export interface TierDeps extends WriteDeps, Pick<World, 'clock'>, Pick<StorePorts, 'tiers'> {
  keyCache: KeyCache
}

const tag = 'operations'
const aTier = named('TIER_NOT_FOUND', 'tier', new RegExp(tierNameForm.pattern))
type TierParams = { name: string }

export function tierRoutes(app: FastifyInstance, deps: TierDeps): void {
  const { tiers, clock, keyCache } = deps
  // After the commit and before the answer: the change already applies to every client that learns of it.
  const forget = async ({ params }: FastifyRequest<{ Params: TierParams }>, { statusCode }: FastifyReply) => {
    if (statusCode === 200 || statusCode === 201) keyCache.forgetTier(params.name)
  }

  app.get(
    '/tiers',
    route(tag, 'operator', 'The tiers, with their limits', {
      description: 'Only for operators.',
      querystring: {},
      answer: TierList,
    }),
    async (): Promise<TierList> => ({ tiers: (await tiers.list()).map(toTier) }),
  )

  app.get<{ Params: TierParams }>(
    '/tiers/:name',
    route(tag, 'operator', 'One tier', {
      description: 'Only for operators.',
      querystring: {},
      answer: { ...Tier, description: 'The tier.' },
    }),
    async ({ params }): Promise<Tier> => {
      const name = aTier.read(params.name)
      return toTier(aTier.found(await tiers.get(name), name))
    },
  )

  app.put<{ Params: TierParams; Body: TierRequest }>(
    '/tiers/:name',
    writeRoute(tag, 'operator', 'Create or replace a tier', {
      description:
        'Only for operators. It applies at once to all tenants of the tier; other servers see it within 5 s. The answer names tenants that are beyond its limits: with `dry_run` before anything changes.',
      params: { type: 'object', properties: { name: { type: 'string', ...tierNameForm } } },
      body: TierRequest,
      response: {
        200: { ...TierChanged, description: 'It existed already; these are its new limits.' },
        201: { ...TierChanged, description: 'Created.' },
      },
      options: { onSend: forget },
    }),
    async (request, reply) => {
      const { params, body } = request
      const tier = fromTierRequest(params.name, body)
      return answerWrite<TierChanged>(deps, request, reply, async (stores) => {
        const outcome = await stores.tiers.put(tier)
        if (outcome === 'too_many')
          throw new ApiError('TOO_MANY_TIERS', `There are ${tiersMax} tiers; there may be no more.`)
        const found = await findExceeding({ clock, tiers: stores.tiers }, tier)
        const headers = outcome === 'created' ? { location: `/api/v1/tiers/${tier.tier}` } : {}
        return { status: outcome === 'created' ? 201 : 200, headers, body: { tier: toTier(tier), ...found } }
      })
    },
  )
}
