// The difference between two JSON values: as changes that people read, and as the merge patch that turns one into the
// other. Lists are compared as a whole, as a merge patch does.

export interface Change {
  /** `execution.callback_url`; empty: the value as a whole. */
  path: string
  /** Undefined: it was not there. */
  before: unknown
  after: unknown
}

const changesMax = 500

export function changesBetween(before: unknown, after: unknown, path = ''): Change[] {
  if (sameJson(before, after)) return []
  if (!isRecord(before) || !isRecord(after)) return [{ path, before, after }]
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])]
  return names
    .flatMap((name) => changesBetween(before[name], after[name], path === '' ? name : `${path}.${name}`))
    .slice(0, changesMax)
}

/** RFC 7396; undefined: nothing to change. A removed field is null. */
export function mergePatch(before: unknown, after: unknown): unknown {
  if (sameJson(before, after)) return undefined
  if (!isRecord(before) || !isRecord(after)) return after === undefined ? null : after
  const patch: Record<string, unknown> = {}
  for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const part = mergePatch(before[name], after[name])
    if (part !== undefined) patch[name] = part
  }
  return patch
}

/** A merge patch says "take it away" by null, so a null that shall stay cannot be said. */
export function hasNullMember(value: unknown): boolean {
  if (!isRecord(value)) return false
  return Object.values(value).some((part) => part === null || hasNullMember(part))
}

export function sameJson(one: unknown, other: unknown): boolean {
  if (Object.is(one, other)) return true
  if (Array.isArray(one) && Array.isArray(other)) {
    return one.length === other.length && one.every((part, index) => sameJson(part, other[index]))
  }
  if (!isRecord(one) || !isRecord(other)) return false
  const names = Object.keys(one).filter((name) => one[name] !== undefined)
  const others = Object.keys(other).filter((name) => other[name] !== undefined)
  return names.length === others.length && names.every((name) => sameJson(one[name], other[name]))
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
