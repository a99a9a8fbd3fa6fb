// Sessions as they were a moment ago, as keys are: one that was closed on another server ends here within 5 s, one that was
// closed on this server at once.
import { hashKey } from '../../domain/access/api-key.ts'
import { codeMs, formatSecret, sessionBytes, sessionMs } from '../../domain/access/session.ts'
import { RecentLookups } from '../../lib/recent-lookups.ts'
import { type EpochMs, epochMs } from '../../lib/time/epoch.ts'
import type { FoundSession } from '../../ports/sessions.ts'
import type { StorePorts } from '../../ports/store.ts'
import type { World } from '../../ports/world.ts'

export interface SessionCacheDeps extends Pick<World, 'clock' | 'random'>, Pick<StorePorts, 'sessions'> {}

const lookups = { ageMsMax: 5_000, absentAgeMsMax: 5_000, entriesMax: 10_000 }

interface CachedSession extends FoundSession {
  hash: string
}

export class SessionCache {
  readonly #deps: SessionCacheDeps
  readonly #sessions: RecentLookups<CachedSession>

  constructor(deps: SessionCacheDeps) {
    this.#deps = deps
    this.#sessions = new RecentLookups(deps.clock, lookups)
  }

  /** Of a session that is open, the hash of its key. */
  async findKeyHash(cookie: string): Promise<Uint8Array | null> {
    const hash = hashKey(cookie)
    const id = hash.toHex()
    const found = await this.#sessions.get(id, async () => {
      const session = await this.#deps.sessions.find(hash)
      return session === null ? null : { ...session, hash: id }
    })
    // On the clock and not in the lookup: a remembered one expires in time too.
    if (found === null || found.expiresAt <= this.#deps.clock.databaseNow()) return null
    return found.keyHash
  }

  /** Returns the cookie value for the browser to keep. */
  async open(keyHash: Uint8Array): Promise<string> {
    const cookie = formatSecret(this.#deps.random.bytes(sessionBytes))
    await this.#deps.sessions.open({ hash: hashKey(cookie), keyHash, forMs: sessionMs })
    return cookie
  }

  /** Returns a code that opens one session of the key. */
  async makeCode(keyHash: Uint8Array): Promise<{ code: string; expiresAt: EpochMs }> {
    const code = formatSecret(this.#deps.random.bytes(sessionBytes))
    const expiresAt = epochMs(this.#deps.clock.databaseNow() + codeMs)
    await this.#deps.sessions.addCode({ hash: hashKey(code), keyHash, forMs: codeMs })
    return { code, expiresAt }
  }

  async close(cookie: string): Promise<void> {
    const hash = hashKey(cookie)
    await this.#deps.sessions.close(hash)
    const id = hash.toHex()
    this.#sessions.forget((session) => session.hash === id)
  }

  /** Of a code that was not used yet, the hash of its key. */
  useCode(code: string): Promise<Uint8Array | null> {
    return this.#deps.sessions.useCode(hashKey(code))
  }
}
