// The signing keys of an installation, in memory. First keys are derived instead of drawn: a simulation from one seed
// is always the same.
import { hash } from 'node:crypto'
import type { EpochMs } from '../../src/lib/time/epoch.ts'
import type { Secrets, TenantSigningKeys } from '../../src/ports/secrets.ts'
import type { MemoryStore } from './store.ts'

export class MemorySecrets implements Secrets {
  readonly #store: MemoryStore
  readonly #since: EpochMs

  constructor(store: MemoryStore) {
    this.#store = store
    this.#since = store.now()
  }

  async tokenKey(): Promise<Uint8Array> {
    return keyFrom('tokens of attempts')
  }

  async signingKeys(tenantIds: readonly string[]): Promise<TenantSigningKeys[]> {
    return [...new Set(tenantIds)].map((tenantId) => this.#keysOf(tenantId))
  }

  async rotateSigningKey({
    tenantId,
    key,
    previousUntil: until,
  }: {
    tenantId: string
    key: Uint8Array
    previousUntil: EpochMs
  }): Promise<void> {
    const [before] = this.#keysOf(tenantId).keys
    const previous = { key: before!, until }
    this.#store.signingKeys.set(tenantId, { key, createdAt: this.#store.now(), previous })
  }

  #keysOf(tenantId: string): TenantSigningKeys {
    const row = this.#store.signingKeys.get(tenantId)
    if (row === undefined) {
      const first = keyFrom(`callbacks of ${tenantId}`)
      return { tenantId, keys: [first], createdAt: this.#since, previousUntil: null }
    }
    const { key, createdAt, previous } = row
    if (previous.until <= this.#store.now()) return { tenantId, keys: [key], createdAt, previousUntil: null }
    return { tenantId, keys: [key, previous.key], createdAt, previousUntil: previous.until }
  }
}

function keyFrom(text: string): Uint8Array {
  return new Uint8Array(hash('sha256', text, 'buffer'))
}
