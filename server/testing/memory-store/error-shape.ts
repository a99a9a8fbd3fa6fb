// The common shape of error messages of the same kind: the message without the parts that differ from one to the next.
// PostgreSQL has the same as a function; failures and dead letters are grouped by it.

const shapedLength = 300
const quoted = /"[^"]*"|`[^`]*`|(^|[ (=:,])'[^']*'/g
/** Numbers, ids, addresses: every word with a digit in it. */
const numbered = /[0-9A-Za-z_-]*[0-9][0-9A-Za-z_-]*/g

export function errorShape(message: string): string {
  // By characters, as PostgreSQL counts them.
  const start = Array.from(message.slice(0, 2 * shapedLength))
    .slice(0, shapedLength)
    .join('')
  return start
    .replaceAll(quoted, (_all, before: string | undefined) => `${before ?? ''}*`)
    .replaceAll(numbered, '*')
}
