// The difference between two documents: as a JSON merge patch for the server, and as lines for people.
import { isDeepStrictEqual } from 'node:util'

type Plain = Record<string, unknown>

/** RFC 7396; null: nothing differs. */
export function mergePatch(before: Plain, after: Plain): Plain | null {
  const patch: Plain = {}
  for (const name of Object.keys(before)) if (!(name in after)) patch[name] = null
  for (const [name, value] of Object.entries(after)) {
    const old = before[name]
    if (isDeepStrictEqual(old, value)) continue
    if (isPlain(old) && isPlain(value)) patch[name] = mergePatch(old, value)
    else patch[name] = value
  }
  return Object.keys(patch).length === 0 ? null : patch
}

export interface Change {
  /** `schedule.cron_expression` */
  path: string
  /** Absent: it was not there, or is not there any more. */
  from?: unknown
  to?: unknown
}

/** Every value that differs, by its path; lists count as a whole. */
export function changesBetween(before: Plain, after: Plain, under = ''): Change[] {
  const names = new Set([...Object.keys(before), ...Object.keys(after)])
  return [...names].flatMap((name) => {
    const path = under === '' ? name : `${under}.${name}`
    const [from, to] = [before[name], after[name]]
    if (isDeepStrictEqual(from, to)) return []
    if (isPlain(from) && isPlain(to)) return changesBetween(from, to, path)
    return [{ path, ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) }]
  })
}

function isPlain(value: unknown): value is Plain {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
