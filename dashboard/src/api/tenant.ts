// The tenant of the page is in the address, so that a link shows the same to its sender and to others. An address without
// one means the tenant of the session; for an operator that is the default tenant.
import { DEFAULT_TENANT_ID } from '@carillon/contract/constants.ts'
import type { Session } from '@carillon/contract/session.ts'
import { chosenTenant } from './client.ts'
import { queryClient } from './hooks.ts'

export const tenantParameter = 'tenant'

let isOperator = false
/** Paths with the same answer for every tenant. */
const ofNoTenant: readonly unknown[] = ['/session', '/tenants']

/** Takes the tenant of the address for all further requests. A key of a tenant acts for that tenant alone. */
export function actInAddress(session: Session | null): void {
  isOperator = session?.operator === true
  followAddress(tenantInSearch(location.search))
}

export function followAddress(tenantId: string | null): void {
  const actsFor = isOperator ? tenantId : null
  if (actsFor === chosenTenant.get()) return
  chosenTenant.set(actsFor)
  // Answers for the former tenant. Nothing is asked for again here: the screen is about to be another one.
  queryClient.removeQueries({ predicate: ({ queryKey }) => !ofNoTenant.includes(queryKey[0]) })
}

/** Anything but an id would be no header; null: there is none. */
function tenantInSearch(search: string): string | null {
  return readTenant(new URLSearchParams(search).get(tenantParameter))
}

export function readTenant(text: unknown): string | null {
  return typeof text === 'string' && /^[\w-]{1,64}$/.test(text) ? text : null
}

/** The tenant that belongs into the address of this session; null: none. */
export function tenantForAddress(session: Session, tenantId: string | null): string | null {
  const home = session.tenant.tenant_id
  if (session.operator) return tenantId === home ? null : tenantId
  return home === DEFAULT_TENANT_ID ? null : home
}

/** The full address of a screen of this tenant, to be copied. */
export function linkTo(path: string): string {
  const tenantId = tenantInSearch(location.search)
  return `${location.origin}${path}${tenantId === null ? '' : `?${tenantParameter}=${tenantId}`}`
}
