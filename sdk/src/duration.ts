// Spans of time as people write them: 1_500 (milliseconds), '90s', '10m', '1.5h', '3d'.

/** Milliseconds, or a number with its unit: ms, s, m, h, d, w. */
export type Duration = number | `${number}${'ms' | 's' | 'm' | 'h' | 'd' | 'w'}`

const units: Record<string, number> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
}

/** In whole milliseconds. `field` names it in the error. */
export function durationMs(duration: Duration, field: string): number {
  const match = typeof duration === 'string' ? /^(\d+(?:\.\d+)?)(ms|s|m|h|d|w)$/.exec(duration) : null
  const ms =
    typeof duration === 'number'
      ? duration
      : match === null
        ? Number.NaN
        : Number(match[1]) * units[match[2]!]!
  if (!Number.isFinite(ms) || ms < 0) {
    throw new TypeError(
      `${field} is ${JSON.stringify(duration)}: it must be milliseconds, or a text such as '90s', '10m', '3d'.`,
    )
  }
  return Math.round(ms)
}

/** In whole seconds, as the API has it; less than one is refused rather than rounded. */
export function durationSeconds(duration: Duration, field: string): number {
  const ms = durationMs(duration, field)
  if (ms < 1_000 || ms % 1_000 !== 0) {
    throw new TypeError(`${field} is ${JSON.stringify(duration)}: it must be whole seconds, at least one.`)
  }
  return ms / 1_000
}
