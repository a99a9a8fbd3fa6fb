// Reads a JSON body, and refuses at the edge any input that would fail deep inside: PostgreSQL accepts no NUL, no half
// of a surrogate pair and no JSON nested 20,000 deep, and each would be a 500 there. A number that would not be
// preserved as it was sent is refused too: a payload is passed on, and must not change on the way. Linear in the size
// of the body.
import type { FastifyRequest } from 'fastify'
import { ApiError } from './api-error.ts'
import { escapePointer, refuseField } from './problem.ts'

const depthMax = 64

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** A content type parser of Fastify. */
export function parseJsonBody(
  _request: unknown,
  bytes: Buffer,
  done: (error: Error | null, body?: unknown) => void,
): void {
  let body: unknown
  try {
    body = readJsonBody(bytes)
  } catch (error) {
    done(error as Error)
    return
  }
  done(null, body)
}

/** A hook for calls with an optional body: no body means the same as an empty one. */
export async function takeNoBody(request: FastifyRequest): Promise<void> {
  if (request.body === undefined) request.body = {}
}

/** Undefined for an empty body: whether that is allowed is the route's to say. */
function readJsonBody(bytes: Buffer): unknown {
  if (bytes.length === 0) return undefined
  let text: string
  let value: unknown
  try {
    text = utf8.decode(bytes)
    value = JSON.parse(text)
  } catch (error) {
    throw new ApiError('MALFORMED_JSON', `The body could not be read as JSON: ${(error as Error).message}.`)
  }
  // Only the text tells 9007199254740993 from 9007199254740992; it is read again only when it matters.
  if (checkValue(value) === 'large numbers') checkValue(JSON.parse(text, markRounded))
  return value
}

/** Stands where the text has a whole number that was rounded when it was read. */
const rounded = Symbol('rounded')

function markRounded(_key: string, value: unknown, context?: { source: string }): unknown {
  if (!isLarge(value)) return value
  const source = context?.source ?? ''
  const kept = !/^-?\d+$/.test(source) || String(value) === source || BigInt(value) === BigInt(source)
  return kept ? value : rounded
}

function isLarge(value: unknown): value is number {
  return typeof value === 'number' && Math.abs(value) > Number.MAX_SAFE_INTEGER
}

interface Pending {
  value: unknown
  parent: Pending | null
  key: string
  depth: number
}

// A list instead of recursion: the depth is the client's choice until it has been checked.
function checkValue(root: unknown): 'large numbers' | null {
  let largeNumbers = false
  const pending: Pending[] = [{ value: root, parent: null, key: '', depth: 0 }]
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const { value, depth } = next
    if (typeof value === 'string') {
      if (!isStorable(value)) throw refuseField(pointerOf(next), `has ${unstorable}`, 'INVALID_TEXT')
    } else if (isLarge(value) || value === rounded) {
      if (value === rounded || !Number.isFinite(value)) {
        throw refuseField(pointerOf(next), 'is a number that would not be kept exactly', 'INVALID_NUMBER')
      }
      largeNumbers = true
    } else if (typeof value === 'object' && value !== null) {
      if (depth === depthMax) {
        const detail = `The body is nested more than ${depthMax} deep.`
        throw new ApiError('NESTED_TOO_DEEP', detail, [
          { pointer: pointerOf(next), detail: 'is nested too deeply' },
        ])
      }
      for (const key of Object.keys(value)) {
        const child = { value: (value as Record<string, unknown>)[key], parent: next, key, depth: depth + 1 }
        if (!isStorable(key)) {
          throw refuseField(pointerOf(next), `has a key with ${unstorable}`, 'INVALID_TEXT')
        }
        if (key === '__proto__') {
          const errors = [{ pointer: pointerOf(child), detail: 'is not allowed as a key' }]
          throw new ApiError('INVALID_REQUEST', 'The key __proto__ is not allowed.', errors)
        }
        pending.push(child)
      }
    }
  }
  return largeNumbers ? 'large numbers' : null
}

const unstorable = 'a NUL character or half of a surrogate pair'

function isStorable(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed()
}

function pointerOf(at: Pending): string {
  const keys: string[] = []
  for (let one: Pending | null = at; one?.parent; one = one.parent) keys.push(escapePointer(one.key))
  return keys
    .toReversed()
    .map((key) => `/${key}`)
    .join('')
}
