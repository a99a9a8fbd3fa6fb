// API keys: `crl_`, 32 random characters (160 bits), 6 of checksum. The prefix lets secret scanners find a leaked one;
// the checksum tells a mistyped or damaged key from an unknown one without a lookup. Also the scopes of keys.
import { createHash } from 'node:crypto'
import { crc32 } from 'node:zlib'

// Crockford's base 32: no letter looks like a digit, and a double click selects the whole key.
const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'
const bodyLength = 32
const checksumLength = 6
/** The part of a key that is shown once it is made: enough to tell keys apart, 120 bits short of using one. */
const prefixLength = 12

/** How many random bytes a key takes. */
export const apiKeyBytes = bodyLength

/** Per tenant, or for the operators; revoked keys are not counted. */
export const apiKeysMax = 1_000

/** How exactly the last use of a key is known. */
export const keyUseMs = 60_000

/** read: every GET. write: definitions. operate: runs. admin: API keys, and the three others. */
export const SCOPES = ['read', 'write', 'operate', 'admin'] as const
export type Scope = (typeof SCOPES)[number]

export function formatApiKey(random: Uint8Array): string {
  const body = [...random.subarray(0, bodyLength)].map((byte) => alphabet[byte & 31]).join('')
  return `crl_${body}${checksumOf(body)}`
}

export function isWholeApiKey(text: string): boolean {
  const [, body, checksum] = /^crl_([0-9a-hjkmnp-tv-z]{32})([0-9a-hjkmnp-tv-z]{6})$/.exec(text) ?? []
  return body !== undefined && checksumOf(body) === checksum
}

export function prefixOf(key: string): string {
  return key.slice(0, prefixLength)
}

/** Plain SHA-256: a key is as random as its hash, so there is nothing to guess and nothing to slow down. */
export function hashKey(key: string): Buffer {
  return createHash('sha256').update(key).digest()
}

/** All that a key with these scopes may do. */
export function expandScopes(scopes: readonly Scope[]): ReadonlySet<Scope> {
  return new Set(scopes.includes('admin') ? SCOPES : scopes)
}

/** The wanted scopes that the holder lacks and so cannot pass on. */
export function lackedScopes(held: ReadonlySet<Scope>, wanted: readonly Scope[]): Scope[] {
  return wanted.filter((scope) => !held.has(scope))
}

function checksumOf(body: string): string {
  let rest = crc32(body)
  let text = ''
  for (let i = 0; i < checksumLength; i++) {
    text += alphabet[rest & 31]
    rest >>>= 5
  }
  return text
}
