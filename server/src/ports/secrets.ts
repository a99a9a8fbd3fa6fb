// The signing keys of an installation. Every process of a fleet sees the same.
import type { EpochMs } from '../lib/time/epoch.ts'

export interface Secrets {
  /** For the tokens of attempts; 32 bytes, made once. */
  tokenKey(): Promise<Uint8Array>
  /** The keys that sign a tenant's callbacks now: one, or two for a day after a change. Newest first. */
  signingKeys(tenantIds: readonly string[]): Promise<TenantSigningKeys[]>
  /** A new key; the previous one stays in use until `previousUntil`. */
  rotateSigningKey(order: { tenantId: string; key: Uint8Array; previousUntil: EpochMs }): Promise<void>
}

export interface TenantSigningKeys {
  tenantId: string
  keys: Uint8Array[]
  createdAt: EpochMs
  /** Null: there is one. */
  previousUntil: EpochMs | null
}
