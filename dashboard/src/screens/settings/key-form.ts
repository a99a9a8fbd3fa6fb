// The request for a new API key.
import type { ApiKeyRequest } from '@carillon/contract/api-key.ts'
import { dayMs } from '../../lib/units.ts'

export const scopes = [
  { name: 'read', text: 'look at everything, preview schedules' },
  { name: 'write', text: 'create, change and delete definitions' },
  { name: 'operate', text: 'trigger, pause, resume, retry, cancel, redrive; workers of your own' },
  { name: 'admin', text: 'API keys, the signing key, and the three others' },
] as const
export type Scope = (typeof scopes)[number]['name']

export const expiries = [
  { value: '', name: 'never', days: null },
  { value: '1', name: 'in a day', days: 1 },
  { value: '30', name: 'in 30 days', days: 30 },
  { value: '90', name: 'in 90 days', days: 90 },
  { value: '365', name: 'in a year', days: 365 },
] as const

export interface KeyForm {
  name: string
  scopes: readonly Scope[]
  expiry: string
  isOperator: boolean
}

export function keyRequestOf(form: KeyForm, nowMs: number): ApiKeyRequest {
  const days = expiries.find(({ value }) => value === form.expiry)?.days ?? null
  return {
    name: form.name.trim(),
    scopes: scopes.map(({ name }) => name).filter((name) => form.scopes.includes(name)),
    ...(days !== null && { expires_at: new Date(nowMs + days * dayMs).toISOString() }),
    ...(form.isOperator && { operator: true }),
  }
}

/** Why it cannot be sent yet; null: it can. */
export function keyFormError({ name, scopes: chosen }: KeyForm): string | null {
  if (name.trim() === '') return 'A key needs a name that says its purpose.'
  if (name.trim().length > 128) return 'A name has at most 128 characters.'
  return chosen.length === 0 ? 'A key needs at least one scope.' : null
}

export type KeyState = 'active' | 'expired' | 'revoked'

export function keyStateOf(
  { revoked_at, expires_at }: { revoked_at: string | null; expires_at: string | null },
  nowMs: number,
): KeyState {
  if (revoked_at !== null) return 'revoked'
  return expires_at !== null && Date.parse(expires_at) <= nowMs ? 'expired' : 'active'
}
