// API keys in memory.
import { apiKeysMax, keyUseMs } from '../../src/domain/access/api-key.ts'
import type {
  ApiKey,
  ApiKeyChanges,
  ApiKeyPage,
  ApiKeyQuery,
  ApiKeys,
  FoundKey,
  KeyOwner,
  NewApiKey,
} from '../../src/ports/api-keys.ts'
import { totalMax } from '../../src/ports/executions.ts'
import type { Tenants } from '../../src/ports/tenants.ts'
import { compareText } from './sorted-set.ts'
import type { MemoryStore } from './store.ts'

interface KeyRow extends ApiKey {
  hash: string
}

export class MemoryApiKeys implements ApiKeys {
  readonly #store: MemoryStore
  readonly #tenants: Pick<Tenants, 'get'>
  readonly #keys = new Map<string, KeyRow>()

  constructor(store: MemoryStore, tenants: Pick<Tenants, 'get'>) {
    this.#store = store
    this.#tenants = tenants
  }

  async create({ hash, ...key }: NewApiKey): Promise<ApiKey | 'too_many'> {
    const own = this.#keysOf(key.tenantId)
    const revoked = own.filter(({ revokedAt }) => revokedAt !== null)
    if (own.length - revoked.length >= apiKeysMax) return 'too_many'
    const oldest = revoked.toSorted((a, b) => b.revokedAt! - a.revokedAt! || compareText(b.keyId, a.keyId))
    for (const { keyId } of oldest.slice(apiKeysMax)) this.#keys.delete(keyId)
    const made = { ...key, createdAt: this.#store.now(), revokedAt: null, lastUsedAt: null }
    this.#keys.set(key.keyId, { ...made, hash: hash.toHex() })
    return made
  }

  async findByHash(hash: Uint8Array): Promise<FoundKey | null> {
    const wanted = hash.toHex()
    const row = this.#keys.values().find((one) => one.hash === wanted)
    if (row === undefined) return null
    const { keyId, tenantId, name, scopes, expiresAt, revokedAt } = row
    const tenant = tenantId === null ? null : await this.#tenants.get(tenantId)
    return {
      keyId,
      name,
      scopes,
      expiresAt,
      revokedAt,
      tenant:
        tenant === null
          ? null
          : { tenantId: tenant.tenantId, tier: tenant.tier, isDeleted: tenant.deletedAt !== null },
    }
  }

  async get(owners: readonly KeyOwner[], keyId: string): Promise<ApiKey | null> {
    const row = this.#find(owners, keyId)
    return row === null ? null : keyOf(row)
  }

  async list({ tenantId, before, limit }: ApiKeyQuery): Promise<ApiKeyPage> {
    const all = this.#keysOf(tenantId)
    const behind = before === null ? all : all.filter(({ keyId }) => keyId < before)
    const total = Math.min(all.length, totalMax + 1)
    return { keys: behind.slice(0, limit).map(keyOf), more: behind.length > limit, total }
  }

  async change(owners: readonly KeyOwner[], keyId: string, changes: ApiKeyChanges): Promise<ApiKey | null> {
    const row = this.#find(owners, keyId)
    return row === null ? null : keyOf(Object.assign(row, changes))
  }

  async revoke(owners: readonly KeyOwner[], keyId: string): Promise<'revoked' | 'not_found'> {
    const row = this.#find(owners, keyId)
    if (row === null) return 'not_found'
    row.revokedAt ??= this.#store.now()
    return 'revoked'
  }

  async noteUse(keyId: string): Promise<void> {
    const row = this.#keys.get(keyId)
    const now = this.#store.now()
    if (row !== undefined && (row.lastUsedAt === null || row.lastUsedAt < now - keyUseMs))
      row.lastUsedAt = now
  }

  purge(tenantId: string): void {
    for (const { keyId } of this.#keysOf(tenantId)) this.#keys.delete(keyId)
  }

  #find(owners: readonly KeyOwner[], keyId: string): KeyRow | null {
    const row = this.#keys.get(keyId)
    return row !== undefined && owners.includes(row.tenantId) ? row : null
  }

  /** Newest first. */
  #keysOf(owner: KeyOwner): KeyRow[] {
    return [...this.#keys.values().filter(({ tenantId }) => tenantId === owner)].toSorted((a, b) =>
      compareText(b.keyId, a.keyId),
    )
  }
}

function keyOf({ hash: _hash, ...key }: KeyRow): ApiKey {
  return key
}
