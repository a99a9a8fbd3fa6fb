// How long a person stays logged in, and how long a one-time link works.
import { dayMs, minuteMs } from '../../lib/time/units.ts'

/** How many random bytes a cookie and a code take. */
export const sessionBytes = 32

/** Counted from when it began; nothing renews it. */
export const sessionMs = 7 * dayMs

/** Per key at a time. */
export const sessionsMax = 100

/** How long a one-time link may wait to be opened. */
export const codeMs = 15 * minuteMs

/** Per key: with a further one the oldest is void. */
export const codesMax = 20

export function formatSecret(random: Uint8Array): string {
  return Buffer.from(random).toString('base64url')
}
