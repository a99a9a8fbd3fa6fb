// Tenants and the limits of their tier.

import { pageOf, pageParameters } from './pagination.ts'
import { describedObject, instant, integerOrNull, strict, strictObject, uuid } from './shapes.ts'
import * as Type from './type.ts'

/** The tier of a tenant when none is given. */
export const tierDefault = 'unlimited'

const name = Type.String({ minLength: 1, maxLength: 128, description: 'Unique among tenants.' })
const tierName = Type.String({
  minLength: 1,
  maxLength: 64,
  description: 'The name of a tier: unlimited, free, pro, enterprise, or one that an operator added.',
})

export const TenantRequest = Type.Object(
  { name, tier: Type.Optional(tierName) },
  { ...strict, examples: [{ name: 'sales', tier: 'pro' }] },
)
export type TenantRequest = Type.Static<typeof TenantRequest>

export const TenantChange = Type.Object(
  { name: Type.Optional(name), tier: Type.Optional(tierName) },
  {
    ...strict,
    minProperties: 1,
    description: 'Fields that are left out stay unchanged.',
    examples: [{ tier: 'enterprise' }],
  },
)
export type TenantChange = Type.Static<typeof TenantChange>

export const Tier = strictObject({
  name: Type.String(),
  weight: Type.Integer({ description: 'Its share of the workers, relative to other tenants with work.' }),
  history_days: Type.Integer(),
  payload_bytes_max: Type.Integer(),
  retries_max: Type.Integer(),
  interval_seconds_min: Type.Integer(),
  priority_best: Type.Integer({ description: 'The smallest number allowed; 1 is the most urgent.' }),
  dead_letters: Type.Boolean({ description: 'Whether the tenant may see its dead letters.' }),
  requests_per_second: integerOrNull(
    'Average rate of API requests; bursts may be twice as large. Null: no limit.',
  ),
})

export const Tenant = describedObject('The tenant.', {
  tenant_id: uuid,
  name: Type.String(),
  tier: Tier,
  created_at: instant('Time of creation.'),
})
export type Tenant = Type.Static<typeof Tenant>

export const TenantListQuery = strictObject(pageParameters)
export type TenantListQuery = Type.Static<typeof TenantListQuery>

export const TenantList = pageOf('A page of the list.', { tenants: Type.Array(Tenant) })
export type TenantList = Type.Static<typeof TenantList>
