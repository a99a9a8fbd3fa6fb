// Tenants for measurements: one whose tier limits the executions a minute, and one without any limit.
import { callApi } from '../server/test/e2e/api.ts'
import type { Carillon } from './carillon.ts'

/** A tier with no limit but this one on the executions a minute. */
export async function createPacedTier(
  { url, key }: Pick<Carillon, 'url' | 'key'>,
  name: string,
  perMinute: number,
): Promise<void> {
  const operator = callApi(url, key)
  const { name: _name, ...limits } = await operator.get<{ name: string }>('/tiers/unlimited')
  await operator.put(`/tiers/${name}`, { ...limits, executions_per_minute: perMinute })
}

/** Returns the id of the tenant. `perMinute`: null: no limit. */
export async function createTenantAt(
  carillon: Pick<Carillon, 'url' | 'key'>,
  name: string,
  perMinute: number | null,
): Promise<string> {
  if (perMinute !== null) await createPacedTier(carillon, name, perMinute)
  const tenant = { name, tier: perMinute === null ? 'unlimited' : name }
  const operator = callApi(carillon.url, carillon.key)
  const { tenant_id: tenantId } = await operator.post<{ tenant_id: string }>('/tenants', tenant, 201)
  return tenantId
}
