// Spans of time as people write them: 1_500 (milliseconds), '90s', '10m', '1.5h', '3d'.
import { type DurationUnit, durationUnitsMs } from '#contract/constants.ts'

/** Milliseconds, or a number with its unit: ms, s, m, h, d, w. */
export type Duration = number | `${number}${DurationUnit}`

/** In whole milliseconds. `field` names it in the error. */
export function durationMs(duration: Duration, field: string): number {
  const match = typeof duration === 'string' ? /^(\d+(?:\.\d+)?)(ms|s|m|h|d|w)$/.exec(duration) : null
  const ms =
    typeof duration === 'number'
      ? duration
      : match === null
        ? Number.NaN
        : Number(match[1]) * durationUnitsMs[match[2] as DurationUnit]
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
