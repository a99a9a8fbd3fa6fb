// API keys: `crl_`, 32 random characters (160 bits), 6 of checksum. The prefix lets secret scanners find a leaked
// one; the checksum tells a mistyped or damaged key from an unknown one without asking anybody.
import { crc32 } from 'node:zlib'

// Crockford's base 32: no letter looks like a digit, and a double click selects the whole key.
const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'
const bodyLength = 32
const checksumLength = 6

/** How many random bytes a key takes. */
export const apiKeyBytes = bodyLength

export function formatApiKey(random: Uint8Array): string {
  const body = [...random.subarray(0, bodyLength)].map((byte) => alphabet[byte & 31]).join('')
  return `crl_${body}${checksumOf(body)}`
}

export function isWholeApiKey(text: string): boolean {
  const [, body, checksum] = /^crl_([0-9a-hjkmnp-tv-z]{32})([0-9a-hjkmnp-tv-z]{6})$/.exec(text) ?? []
  return body !== undefined && checksumOf(body) === checksum
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
