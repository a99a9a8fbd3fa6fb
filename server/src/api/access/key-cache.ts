// Caches keys and tenants, so that no request waits for the database to identify its caller. A change on another server
// is seen within 5 s, one on this server at once.
import { keyUseMs } from '../../domain/access/api-key.ts'
import type { Tenant } from '../../domain/tenants/tenant.ts'
import { RecentLookups } from '../../lib/recent-lookups.ts'
import type { ApiKeys, FoundKey } from '../../ports/api-keys.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Tenants } from '../../ports/tenants.ts'

export interface KeyCacheDeps {
  clock: Clock
  apiKeys: Pick<ApiKeys, 'findByHash' | 'noteUse'>
  tenants: Pick<Tenants, 'get'>
}

export const keyCacheMax = 10_000
const lookups = { ageMsMax: 5_000, absentAgeMsMax: 5_000, entriesMax: keyCacheMax }

export class KeyCache {
  readonly #deps: KeyCacheDeps
  readonly #keys: RecentLookups<FoundKey>
  readonly #tenants: RecentLookups<Tenant>
  /** When a use was last noted, by key id, longest ago first. */
  readonly #notedMs = new Map<string, number>()

  constructor(deps: KeyCacheDeps) {
    this.#deps = deps
    this.#keys = new RecentLookups(deps.clock, lookups)
    this.#tenants = new RecentLookups(deps.clock, lookups)
  }

  findKey(hash: Uint8Array): Promise<FoundKey | null> {
    return this.#keys.get(hash.toHex(), () => this.#deps.apiKeys.findByHash(hash))
  }

  findTenant(tenantId: string): Promise<Tenant | null> {
    return this.#tenants.get(tenantId, () => this.#deps.tenants.get(tenantId))
  }

  /** After a key was changed or revoked. */
  forgetKey(keyId: string): void {
    this.#keys.forget((key) => key.keyId === keyId)
  }

  /** After a tenant was changed. */
  forgetTenant(tenantId: string): void {
    this.#keys.forget((key) => key.tenant?.tenantId === tenantId)
    this.#tenants.forget((tenant) => tenant.tenantId === tenantId)
  }

  /** After a tier was changed. */
  forgetTier(name: string): void {
    this.#keys.forget((key) => key.tenant?.tier.tier === name)
    this.#tenants.forget(({ tier }) => tier.tier === name)
  }

  /** Nobody waits for it, and nothing is lost but a time when it fails. */
  noteUse(keyId: string): void {
    const nowMs = this.#deps.clock.monotonicMs()
    if (nowMs - (this.#notedMs.get(keyId) ?? Number.NEGATIVE_INFINITY) < keyUseMs) return
    this.#notedMs.delete(keyId)
    if (this.#notedMs.size >= keyCacheMax) this.#notedMs.delete(this.#notedMs.keys().next().value!)
    this.#notedMs.set(keyId, nowMs)
    this.#deps.apiKeys.noteUse(keyId).catch(() => {})
  }
}
