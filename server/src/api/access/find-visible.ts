// The tenant that a request names: a tenant sees itself, operators see all.
import type { Tenant } from '../../domain/tenants/tenant.ts'
import type { Tenants } from '../../ports/tenants.ts'
import { readId } from '../http/path-id.ts'
import type { Caller } from './auth.ts'
import { aTenant } from './tenant-view.ts'

export async function findVisible(
  tenants: Pick<Tenants, 'get'>,
  caller: Caller,
  given: string,
): Promise<Tenant> {
  const tenantId = readId(given)
  const visible = tenantId !== null && (caller.operator || tenantId === caller.tenantId)
  return aTenant.found(visible ? await tenants.get(tenantId) : null, given)
}
