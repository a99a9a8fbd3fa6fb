// Takes one of the places that tenants share, or refuses with a problem that says whose bound is reached: the tenant's
// share (429) or the whole server (503).
import type { Place, PlaceHolder, TenantShares } from '../../domain/tenants/tenant-shares.ts'
import { ApiError } from './api-error.ts'

const retryAfterSeconds = 1

/** `noun`: the places as a refusal names them, such as "claims waiting". `count`: how many are taken as one. */
export function takePlace(shares: TenantShares, holder: PlaceHolder, noun: string, count = 1): Place {
  const taken = shares.take(holder, count)
  if (taken.kind === 'taken') return taken.place
  const after = { retryAfterSeconds }
  if (taken.kind === 'tenant_full')
    throw new ApiError('TENANT_SHARE_USED', shareText(shares, noun), [], after)
  throw new ApiError('SERVER_FULL', serverText(shares, holder, noun), [], after)
}

export function shareText({ shareMax }: TenantShares, noun: string): string {
  return `The tenant has ${shareMax} ${noun} at this server, which is its share.`
}

export function serverText(
  { placesMax, tenantsMax }: TenantShares,
  { operator }: PlaceHolder,
  noun: string,
): string {
  if (operator) return `This server has ${placesMax} ${noun}, as many as it may.`
  return `All tenants together have ${tenantsMax} ${noun} at this server, as many as they may.`
}
