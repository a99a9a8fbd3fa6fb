// Text from outside, made storable in the database.

/** As PostgreSQL's text can hold it: neither with NUL nor with half a surrogate pair. */
export function storable(text: string): string {
  const whole = text.toWellFormed()
  return whole.includes('\0') ? whole.replaceAll('\0', '\ufffd') : whole
}
