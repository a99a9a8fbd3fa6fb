// Time has one type: milliseconds since 1970 in UTC. RFC 3339 is its form on the wire.

export type EpochMs = number & { readonly unit: 'EpochMs' }

export function epochMs(value: number): EpochMs {
  return Math.trunc(value) as EpochMs
}

let lastAt = Number.NaN
let lastText = ''

/** `2026-11-15T21:14:42.123Z`; whole seconds are written without a fraction. */
export function toRfc3339(at: EpochMs): string {
  // Executions come in batches of one slot, and a text takes 5 µs to make.
  if (at === lastAt) return lastText
  const text = new Date(at).toISOString()
  lastText = text.endsWith('.000Z') ? `${text.slice(0, -5)}Z` : text
  lastAt = at
  return lastText
}
