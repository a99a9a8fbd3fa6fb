// API keys: which caller may act, for which tenant and with which scopes. The key itself never comes here, only its
// hash.
import type { Scope } from '../domain/access/api-key.ts'
import type { Tier } from '../domain/tenants/tenant.ts'
import type { EpochMs } from '../lib/time/epoch.ts'

export interface ApiKeys {
  /** An owner has at most `apiKeysMax` that are not revoked, and as many revoked ones are remembered. */
  create(key: NewApiKey): Promise<ApiKey | 'too_many'>
  /** Revoked and expired ones too: the caller says why it refuses. */
  findByHash(hash: Uint8Array): Promise<FoundKey | null>
  get(owners: readonly KeyOwner[], keyId: string): Promise<ApiKey | null>
  /** Newest first, behind `before` (a key id). */
  list(query: ApiKeyQuery): Promise<ApiKeyPage>
  /** Absent fields stay unchanged. */
  change(owners: readonly KeyOwner[], keyId: string, changes: ApiKeyChanges): Promise<ApiKey | null>
  /** Again: the first time counts. */
  revoke(owners: readonly KeyOwner[], keyId: string): Promise<'revoked' | 'not_found'>
  /** Written at most once a minute. */
  noteUse(keyId: string): Promise<void>
}

/** A tenant, or null: the operators. */
export type KeyOwner = string | null

export interface NewApiKey {
  keyId: string
  tenantId: KeyOwner
  name: string
  /** Its first characters, to know it by. */
  prefix: string
  hash: Uint8Array
  scopes: readonly Scope[]
  createdBy: string
  expiresAt: EpochMs | null
}

export interface ApiKey extends Omit<NewApiKey, 'hash'> {
  createdAt: EpochMs
  revokedAt: EpochMs | null
  lastUsedAt: EpochMs | null
}

export interface FoundKey extends Pick<ApiKey, 'keyId' | 'name' | 'scopes' | 'expiresAt' | 'revokedAt'> {
  /** Null: an operator's key. */
  tenant: { tenantId: string; tier: Tier; isDeleted: boolean } | null
}

export interface ApiKeyQuery {
  tenantId: KeyOwner
  before: string | null
  limit: number
}

export interface ApiKeyPage {
  keys: ApiKey[]
  more: boolean
  total: number
}

export interface ApiKeyChanges {
  name?: string
  /** Null: never. */
  expiresAt?: EpochMs | null
}
