// Times for people: how long ago, how long it took; and the times that people give: "2h", a day, an instant.
import { type DurationUnit, durationUnitsMs } from '@carillon/contract/constants.ts'
import { CliError, EXIT } from './exit-code.ts'
import type { Cell } from './table.ts'

const units = (['d', 'h', 'm', 's'] as const).map((name): [string, number] => [name, durationUnitsMs[name]])

/** Two units at most: "2h 5m", "12s", "450ms". */
export function writeDuration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)}ms`
  if (ms < 10_000) return `${(ms / 1_000).toFixed(1)}s`
  const i = units.findIndex(([, size]) => ms >= size)
  const [name, size] = units[i]!
  const whole = Math.floor(ms / size)
  const [nextName, nextSize] = units[i + 1] ?? ['', 1]
  const rest = Math.floor((ms % size) / nextSize)
  return rest === 0 || nextName === '' || whole >= 10
    ? `${whole}${name}`
    : `${whole}${name} ${rest}${nextName}`
}

export function durationCell(ms: number | null | undefined): Cell {
  return ms === null || ms === undefined ? '' : { text: writeDuration(ms), exact: String(ms) }
}

/** "2m ago", "in 3h"; for programs the instant itself. */
export function instantCell(instant: string | null | undefined, nowMs: number): Cell {
  return instant === null || instant === undefined
    ? { text: '–', exact: '', tone: 'dim' }
    : { text: writeAgo(Date.parse(instant) - nowMs), exact: instant }
}

export function writeAgo(ms: number): string {
  const length = Math.abs(ms)
  if (length < 1_000) return 'now'
  const i = units.findIndex(([, size]) => length >= size)
  const [name, size] = units[i]!
  const text = `${Math.floor(length / size)}${name}`
  return ms < 0 ? `${text} ago` : `in ${text}`
}

const span = /^(\d+(?:\.\d+)?)\s*(ms|s|m|h|d|w)$/

/** Null: it is none. */
function readSpanMs(text: string): number | null {
  const match = span.exec(text.trim())
  return match === null ? null : Number(match[1]) * durationUnitsMs[match[2] as DurationUnit]
}

/** `30`, `30s`, `5m`, `2h`, `1d`. */
export function readSeconds(option: string, text: string): number {
  const ms = /^\d+$/.test(text) ? Number(text) * 1_000 : readSpanMs(text)
  if (ms === null || ms % 1_000 !== 0)
    throw new CliError(EXIT.usage, `--${option} is a time such as 30s, 5m, 2h or 1d, not "${text}".`)
  return ms / 1_000
}

/** A span counts from now: back for the past, forward for the future. A day or an instant is sent as it is. */
export function readInstant(option: string, text: string, direction: 'past' | 'future'): string {
  const ms = readSpanMs(text)
  if (ms !== null) {
    const at = Date.now() + (direction === 'past' ? -ms : ms)
    return new Date(at).toISOString()
  }
  if (/^\d{4}-\d\d-\d\d([T ].*)?$/.test(text)) return text.replace(' ', 'T')
  throw new CliError(
    EXIT.usage,
    `--${option} is a span such as 2h or 7d, a day (2026-01-31) or an instant (2026-01-31T09:00:00Z), not "${text}".`,
  )
}
