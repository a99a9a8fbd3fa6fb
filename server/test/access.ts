// Tenants and keys for tests of the edge, made as an operator makes them: over the API.
import assert from 'node:assert/strict'
import { formatApiKey } from '../src/domain/access/api-key.ts'
import type { setupApp } from './app.ts'
import { SeededRandom } from './virtual-world.ts'

type Call = Awaited<ReturnType<typeof setupApp>>['call']

export async function addTenant(call: Call, name: string, tier?: string): Promise<string> {
  const answer = await call('POST', '/tenants', { name, ...(tier !== undefined && { tier }) })
  assert.equal(answer.statusCode, 201, answer.body)
  return answer.json().tenant_id
}

export interface KeyWish {
  scopes?: string[]
  name?: string
  expires_at?: string
  operator?: boolean
}

/** A key of the tenant, by default with every scope, and the header that sends it. */
export async function addKey(call: Call, tenantId: string, wish: KeyWish = {}) {
  const body = { name: 'a key', scopes: ['admin'], ...wish }
  const answer = await call('POST', '/api-keys', body, { 'x-tenant-id': tenantId })
  assert.equal(answer.statusCode, 201, answer.body)
  const { key, key_id: keyId } = answer.json() as { key: string; key_id: string }
  return { key, keyId, headers: bearer(key) }
}

export function bearer(key: string): { authorization: string } {
  return { authorization: `Bearer ${key}` }
}

/** A whole key that nobody has made. */
export function strangeKey(seed = 7): string {
  return formatApiKey(new SeededRandom(seed).bytes(32))
}
