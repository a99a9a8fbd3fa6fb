// Sessions of people at the dashboard, and the one-time codes that open one. Neither a cookie nor a code comes here, only
// their hashes.
import type { EpochMs } from '../lib/time/epoch.ts'

export interface Sessions {
  /** A key has at most `sessionsMax`: the oldest ends when a further one begins. */
  open(session: NewSession): Promise<void>
  /** Null too when it has expired. */
  find(hash: Uint8Array): Promise<FoundSession | null>
  /** Again: nothing happens. */
  close(hash: Uint8Array): Promise<void>
  /** A key has at most `codesMax`: the oldest is void when a further one is made. */
  addCode(code: NewCode): Promise<void>
  /** Its owner, to one caller only; null when it was used, has expired or never was. */
  useCode(hash: Uint8Array): Promise<Uint8Array | null>
}

export interface NewSession {
  hash: Uint8Array
  /** Hash of the API key that the session stands for. */
  keyHash: Uint8Array
  forMs: number
}

export interface FoundSession {
  keyHash: Uint8Array
  expiresAt: EpochMs
}

export type NewCode = NewSession
