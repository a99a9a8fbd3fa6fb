// Whether a callback comes from Carillon: its signature as https://www.standardwebhooks.com says.
import { createHmac, timingSafeEqual } from 'node:crypto'
import { checkOptionNames, type OptionNames } from './known-options.ts'

export type SignatureErrorCode =
  | 'HEADER_MISSING'
  | 'TIMESTAMP_INVALID'
  | 'TIMESTAMP_TOO_OLD'
  | 'TIMESTAMP_TOO_NEW'
  | 'SIGNATURE_MISMATCH'

/** The request is not to be trusted; `code` says why. */
export class SignatureError extends Error {
  readonly code: SignatureErrorCode

  constructor(code: SignatureErrorCode, message: string) {
    super(message)
    this.name = 'SignatureError'
    this.code = code
  }
}

type HeaderValues = Readonly<Record<string, string | readonly string[] | undefined>>

export interface SignatureOptions {
  /** `whsec_…`, as `client.signingKey.get()` answers it. */
  secret?: string
  /** Several: while keys are being changed, one that fits is enough. */
  secrets?: readonly string[]
  /** Headers of the request, from node:http or from fetch. */
  headers: HeaderValues | { get(name: string): string | null }
  /** As it came, before anything parsed it. */
  body: string | Uint8Array
  /** How far the clocks may be apart, and how old a repeated request may be. Default 300. */
  toleranceSeconds?: number
  /** Now, in milliseconds. Default: the clock of this machine. */
  nowMs?: number
}

const signatureOptions: OptionNames<SignatureOptions> = {
  secret: true,
  secrets: true,
  headers: true,
  body: true,
  toleranceSeconds: true,
  nowMs: true,
}

/** The message that the signature vouches for. */
export interface VerifiedMessage {
  /** The execution id. */
  id: string
  timestamp: Date
}

/** Throws a SignatureError unless the request is genuine. */
export function verifySignature(options: SignatureOptions): VerifiedMessage {
  checkOptionNames('verifySignature', options, signatureOptions)
  const { headers, body, toleranceSeconds = 300, nowMs = Date.now() } = options
  const keys = [...(options.secrets ?? []), ...(options.secret === undefined ? [] : [options.secret])].map(
    readKey,
  )
  if (keys.length === 0) throw new TypeError('secret or secrets is required.')
  const id = headerOf(headers, 'webhook-id')
  const timestamp = headerOf(headers, 'webhook-timestamp')
  const given = headerOf(headers, 'webhook-signature')
  const seconds = /^\d{1,15}$/.test(timestamp) ? Number(timestamp) : Number.NaN
  if (Number.isNaN(seconds)) {
    throw new SignatureError('TIMESTAMP_INVALID', 'webhook-timestamp is not a number of seconds.')
  }
  const ageSeconds = nowMs / 1_000 - seconds
  if (ageSeconds > toleranceSeconds) {
    throw new SignatureError(
      'TIMESTAMP_TOO_OLD',
      `webhook-timestamp is ${Math.round(ageSeconds)} s old; ${toleranceSeconds} s at most.`,
    )
  }
  if (ageSeconds < -toleranceSeconds) {
    throw new SignatureError(
      'TIMESTAMP_TOO_NEW',
      `webhook-timestamp lies ${Math.round(-ageSeconds)} s ahead; ${toleranceSeconds} s at most.`,
    )
  }
  const expected = keys.map((key) =>
    createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest(),
  )
  const isGenuine = given
    .split(' ')
    .map(readSignature)
    .some((one) => one !== null && expected.some((other) => timingSafeEqual(one, other)))
  if (!isGenuine) {
    throw new SignatureError(
      'SIGNATURE_MISMATCH',
      'No signature in webhook-signature fits. Is the body as it came, and the secret the right one?',
    )
  }
  return { id, timestamp: new Date(seconds * 1_000) }
}

function headerOf(headers: SignatureOptions['headers'], name: string): string {
  const value =
    typeof headers['get'] === 'function'
      ? (headers as { get(name: string): string | null }).get(name)
      : findHeader(headers as HeaderValues, name)
  if (typeof value !== 'string' || value === '') {
    throw new SignatureError('HEADER_MISSING', `The header ${name} is missing.`)
  }
  return value
}

// Frameworks differ in the case of names.
function findHeader(headers: HeaderValues, name: string): string | undefined {
  const found = Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1]
  return typeof found === 'string' ? found : found?.[0]
}

function readKey(secret: string): Buffer {
  const text = secret.startsWith('whsec_') ? secret.slice(6) : secret
  const key = Buffer.from(text, 'base64')
  if (key.length === 0 || !/^[A-Za-z0-9+/]+={0,2}$/.test(text)) {
    throw new TypeError('secret must be whsec_ and base64.')
  }
  return key
}

/** The 32 bytes of a `v1,BASE64`; null: another version, or no signature. */
function readSignature(text: string): Buffer | null {
  if (!text.startsWith('v1,')) return null
  const bytes = Buffer.from(text.slice(3), 'base64')
  return bytes.length === 32 ? bytes : null
}
