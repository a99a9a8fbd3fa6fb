// Instants in a request.
import { readInstant } from '../../domain/schedule/instant.ts'
import { refuseField } from './problem.ts'

/** Epoch milliseconds, which may carry a fraction. */
export function requireInstant(text: string, pointer: string, example = '2026-01-31T09:00:00Z'): number {
  const instant = readInstant(text, pointer, null)
  if (instant.ok) return instant.value * 1_000
  const hint = pointer.startsWith('/') ? '' : hintAtPlus(text)
  throw refuseField(pointer, `must be an instant such as ${example}${hint}`)
}

/** In a query string, an apparent space may have been the + of an offset. */
export function hintAtPlus(text: string): string {
  return / \d\d:?\d\d$/.test(text) ? ', with + written as %2B' : ''
}
