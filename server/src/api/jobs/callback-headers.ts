// The headers a job sends: a header that could break the message apart, belongs to the connection, or is ours to set is
// refused when the job is created, not when it runs.
import { headerBytesMax } from '@carillon/contract/executor.ts'
import type { FieldError } from '@carillon/contract/problem.ts'
import { isOwnHeader } from '../../domain/queue/own-headers.ts'
import { fieldsOfConnection, fieldValue, token } from '../../lib/http/fields.ts'
import { escapePointer } from '../http/problem.ts'

/** The first thing wrong with them, or null. */
export function checkHeaders(headers: Readonly<Record<string, string>>): FieldError | null {
  const seen = new Set<string>()
  let bytes = 0
  for (const [name, value] of Object.entries(headers)) {
    const lower = name.toLowerCase()
    const detail = checkName(name, lower) ?? (seen.has(lower) ? 'is given twice' : checkValue(value))
    if (detail !== null) return { pointer: `/execution/headers/${escapePointer(name)}`, detail }
    seen.add(lower)
    bytes += Buffer.byteLength(name) + Buffer.byteLength(value)
  }
  if (bytes <= headerBytesMax) return null
  return { pointer: '/execution/headers', detail: `must have at most ${headerBytesMax} bytes in all` }
}

function checkName(name: string, lower: string): string | null {
  if (!token.test(name)) return 'is not a valid header name'
  if (fieldsOfConnection.has(lower) || lower.startsWith('proxy-'))
    return 'belongs to the connection and cannot be set'
  if (isOwnHeader(lower)) return 'is set by Carillon itself'
  return null
}

function checkValue(value: string): string | null {
  return fieldValue.test(value) ? null : 'has a character that a header value cannot have'
}
