// The steps of the suites about the end of tenants: delete a tenant, do the work of the loop, look at the rest of it.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import type { TestContext } from 'node:test'
import type { Tenant } from '../../../src/domain/tenants/tenant.ts'
import { endTenants } from '../../../src/maintenance/end-tenants.ts'
import type { NewJob } from '../../../src/ports/jobs.ts'
import type { TenantEndOutcome } from '../../../src/ports/tenant-ends.ts'
import type { StoreScenario } from '../stores.ts'

export type Setup = (t: TestContext) => Promise<StoreScenario>

export const dayMs = 86_400_000

export async function addTenant(s: StoreScenario, name = 'sales'): Promise<string> {
  const tenantId = s.ids.next()
  assert.equal(typeof (await s.tenants.create({ tenantId, name, tier: 'unlimited' })), 'object')
  return tenantId
}

export const orderOf = (s: StoreScenario, tenantId: string) => {
  return { tenantId, operationId: s.ids.next(), requestedBy: 'ada' }
}

interface Wish {
  cancelRunning?: boolean
  purgeAfterMs?: number
}

export function written(outcome: TenantEndOutcome) {
  assert(typeof outcome === 'object', `${outcome as string}`)
  return outcome
}

export async function deleteTenant(s: StoreScenario, tenantId: string, wish: Wish = {}) {
  const order = { ...orderOf(s, tenantId), cancelRunning: false, purgeAfterMs: 7 * dayMs, ...wish }
  return written(await s.tenantEnds.delete(order))
}

/** One step of the loop. */
async function step(s: StoreScenario): Promise<'more' | 'idle' | number> {
  const now = await s.now()
  const clock = { databaseNow: () => now }
  return endTenants({ ...s, clock, onChanged() {}, onCancelled() {} })
}

/** Until nothing is due. */
export async function stepAll(s: StoreScenario): Promise<void> {
  for (let steps = 0; steps < 200; steps++) if ((await step(s)) !== 'more') return
  assert.fail('it does not come to an end')
}

export async function tenantOf(s: StoreScenario, tenantId: string): Promise<Tenant> {
  const tenant = await s.tenants.get(tenantId)
  assert(tenant !== null)
  return tenant
}

export async function jobOf(s: StoreScenario, { tenantId, jobId }: NewJob) {
  const job = await s.jobs.get(tenantId, jobId)
  assert(job !== null)
  return job
}

export async function operationOf(s: StoreScenario, tenantId: string, operationId: string) {
  const operation = await s.operations.get(tenantId, operationId)
  assert(operation !== null)
  const { kind, status, done, total } = operation
  return { kind, status, done, total }
}

export async function addKey(s: StoreScenario, tenantId: string): Promise<Uint8Array> {
  const hash = randomBytes(32)
  const key = { keyId: s.ids.next(), tenantId, name: 'a key', prefix: 'crl_12345678', hash }
  await s.apiKeys.create({ ...key, scopes: ['admin'], createdBy: 'ada', expiresAt: null } as never)
  return hash
}
