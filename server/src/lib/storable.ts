// Text from outside, as a database takes it.

/** As PostgreSQL's text can hold it: neither with NUL nor with half a surrogate pair. */
export function storable(text: string): string {
  const whole = text.toWellFormed()
  return whole.includes('\0') ? whole.replaceAll('\0', '\ufffd') : whole
}
