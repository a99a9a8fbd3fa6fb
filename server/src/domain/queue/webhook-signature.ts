// The signature of a callback, as Standard Webhooks say: over id, time and body, one for each key that is good now, so
// that a receiver may change its key when it likes. https://www.standardwebhooks.com
import type { HmacSha256 } from '../../lib/hmac.ts'

export interface SignedCall {
  id: string
  /** In seconds: a receiver refuses calls that are too old to be new. */
  timestamp: number
  body: string
}

export function signWebhook(keys: readonly HmacSha256[], { id, timestamp, body }: SignedCall): string {
  const signed = `${id}.${timestamp}.${body}`
  let signature = ''
  for (const key of keys) signature += `${signature === '' ? '' : ' '}v1,${key.base64(signed)}`
  return signature
}
