// Sessions in memory.
import { codesMax, sessionsMax } from '../../src/domain/access/session.ts'
import { type EpochMs, epochMs } from '../../src/lib/time/epoch.ts'
import type { FoundSession, NewCode, NewSession, Sessions } from '../../src/ports/sessions.ts'
import type { MemoryStore } from './store.ts'

export class MemorySessions implements Sessions {
  readonly #store: MemoryStore
  /** By their hashes, oldest first. */
  readonly #sessions = new Map<string, FoundSession>()
  readonly #codes = new Map<string, { keyHash: Uint8Array; expiresAt: EpochMs }>()

  constructor(store: MemoryStore) {
    this.#store = store
  }

  async open({ hash, keyHash, forMs }: NewSession): Promise<void> {
    this.#sessions.set(hash.toHex(), { keyHash, expiresAt: this.#in(forMs) })
    const key = keyHash.toHex()
    const own = [...this.#sessions].filter(([, session]) => session.keyHash.toHex() === key)
    for (const [oldest] of own.slice(0, Math.max(0, own.length - sessionsMax))) this.#sessions.delete(oldest)
  }

  async find(hash: Uint8Array): Promise<FoundSession | null> {
    const session = this.#sessions.get(hash.toHex())
    return session !== undefined && session.expiresAt > this.#store.now() ? session : null
  }

  async close(hash: Uint8Array): Promise<void> {
    this.#sessions.delete(hash.toHex())
  }

  async addCode({ hash, keyHash, forMs }: NewCode): Promise<void> {
    this.#codes.set(hash.toHex(), { keyHash, expiresAt: this.#in(forMs) })
    const key = keyHash.toHex()
    const own = [...this.#codes].filter(([, code]) => code.keyHash.toHex() === key)
    for (const [oldest] of own.slice(0, Math.max(0, own.length - codesMax))) this.#codes.delete(oldest)
  }

  async useCode(hash: Uint8Array): Promise<Uint8Array | null> {
    const code = this.#codes.get(hash.toHex())
    this.#codes.delete(hash.toHex())
    return code !== undefined && code.expiresAt > this.#store.now() ? code.keyHash : null
  }

  #in(ms: number): EpochMs {
    return epochMs(this.#store.now() + ms)
  }
}
