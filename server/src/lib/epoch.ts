// Time has one type: milliseconds since 1970 in UTC. RFC 3339 is its form on the wire.

export type EpochMs = number & { readonly unit: 'EpochMs' }

export function epochMs(value: number): EpochMs {
  return Math.trunc(value) as EpochMs
}

/** `2026-11-15T21:14:42.123Z`; whole seconds are written without a fraction. */
export function toRfc3339(at: EpochMs): string {
  const text = new Date(at).toISOString()
  return text.endsWith('.000Z') ? `${text.slice(0, -5)}Z` : text
}
