// The headers that a callback carries of ours. A job cannot set them: it would speak in our name, or send them twice.

const named: ReadonlySet<string> = new Set([
  'x-idempotency-key',
  'x-execution-id',
  'x-job-id',
  'x-attempt-number',
  'x-scheduled-time',
  'traceparent',
])

/** `lower`: the name in lower case. */
export function isOwnHeader(lower: string): boolean {
  return named.has(lower) || lower.startsWith('webhook-') || lower.startsWith('x-carillon-')
}
