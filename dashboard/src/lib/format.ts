// Numbers, durations and instants as people read them. Every number has its unit.
import { minuteMs } from './units.ts'

const groups = new Intl.NumberFormat('en-GB')

export function formatCount(count: number, capped = false): string {
  return `${groups.format(count)}${capped ? '+' : ''}`
}

/** `plural(3, 'job')` is "3 jobs". */
export function plural(count: number, noun: string, many = `${noun}s`): string {
  return `${formatCount(count)} ${count === 1 ? noun : many}`
}

/** A share of 0 to 1. Never 100 % when something is missing, never 0 % when something is there. */
export function formatShare(share: number | null): string {
  if (share === null) return 'none yet'
  const percent = share * 100
  if (percent > 99.9 && percent < 100) return '99.9 %'
  if (percent > 0 && percent < 0.1) return '0.1 %'
  return `${percent >= 10 || percent === 0 ? Math.floor(percent * 10) / 10 : percent.toFixed(1)} %`
}

export function formatDuration(ms: number | null | undefined): string {
  if (ms === null || ms === undefined) return '–'
  const size = Math.abs(ms)
  if (size < 999.5) return `${Math.round(ms)} ms`
  if (size < 59_500) return `${(ms / 1_000).toFixed(size < 9_950 ? 1 : 0)} s`
  const seconds = Math.round(size / 1_000)
  const sign = ms < 0 ? '-' : ''
  if (seconds < 3_600) return `${sign}${Math.floor(seconds / 60)} min ${pad(seconds % 60)} s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 1_440) return `${sign}${Math.floor(minutes / 60)} h ${pad(minutes % 60)} min`
  const hours = Math.floor(minutes / 60)
  return `${sign}${Math.floor(hours / 24)} d ${pad(hours % 24)} h`
}

export function formatBytes(bytes: number): string {
  if (bytes < 1_024) return `${bytes} B`
  const units = ['KB', 'MB', 'GB', 'TB']
  let size = bytes
  let unit = -1
  while (size >= 1_024 && unit < units.length - 1) {
    size /= 1_024
    unit += 1
  }
  return `${size.toFixed(size < 10 ? 1 : 0)} ${units[unit]}`
}

export const TIME_MODES = ['relative', 'local', 'UTC'] as const
export type TimeMode = (typeof TIME_MODES)[number]

export function formatTime(instant: string | number, mode: TimeMode, nowMs: number): string {
  const at = new Date(instant)
  if (Number.isNaN(at.getTime())) return String(instant)
  if (mode === 'relative') return formatRelative(at.getTime(), nowMs)
  return `${formatClock(at, mode, nowMs)}${mode === 'UTC' ? 'Z' : ''}`
}

export type Clock = 'local' | 'UTC'

/** The clock of absolute times. Beside relative times it is the local one. */
export function clockOf(mode: TimeMode): Clock {
  return mode === 'UTC' ? 'UTC' : 'local'
}

/** "CET" or "UTC": the zone of the clock at that time. */
export function zoneName(clock: Clock, atMs: number): string {
  if (clock === 'UTC') return 'UTC'
  const zone = new Intl.DateTimeFormat('en-GB', { timeZoneName: 'short' })
  return zone.formatToParts(atMs).find(({ type }) => type === 'timeZoneName')?.value ?? 'local'
}

/** The full form, for titles: date, time to the millisecond, and the zone. */
export function formatExact(instant: string | number, mode: Clock): string {
  const at = new Date(instant)
  if (Number.isNaN(at.getTime())) return String(instant)
  if (mode === 'local') {
    const zone = -at.getTimezoneOffset()
    const shifted = new Date(at.getTime() + zone * minuteMs).toISOString()
    const sign = zone < 0 ? '-' : '+'
    const offset = `${sign}${pad(Math.floor(Math.abs(zone) / 60))}:${pad(Math.abs(zone) % 60)}`
    return `${shifted.slice(0, 10)} ${shifted.slice(11, 23)} ${offset}`
  }
  const text = at.toISOString()
  return `${text.slice(0, 10)} ${text.slice(11, 23)} UTC`
}

/** The time of day without its zone, with the date where that is another day. */
export function formatClock(at: Date, clock: Clock, nowMs: number): string {
  const shiftMs = clock === 'local' ? -at.getTimezoneOffset() * minuteMs : 0
  const text = new Date(at.getTime() + shiftMs).toISOString()
  const today = new Date(nowMs + shiftMs).toISOString()
  const time = text.slice(11, 19)
  if (text.slice(0, 10) === today.slice(0, 10)) return time
  const date = text.slice(0, 4) === today.slice(0, 4) ? text.slice(5, 10) : text.slice(0, 10)
  return `${date} ${time}`
}

export function formatRelative(atMs: number, nowMs: number): string {
  const ms = nowMs - atMs
  const size = Math.abs(ms)
  if (size < 1_000) return 'now'
  const text = roughly(size)
  return ms >= 0 ? `${text} ago` : `in ${text}`
}

function roughly(ms: number): string {
  const seconds = Math.floor(ms / 1_000)
  if (seconds < 60) return `${seconds} s`
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min`
  if (seconds < 86_400) {
    const minutes = Math.floor((seconds % 3_600) / 60)
    return `${Math.floor(seconds / 3_600)} h${minutes > 0 ? ` ${minutes} min` : ''}`
  }
  return `${Math.floor(seconds / 86_400)} d`
}

function pad(value: number): string {
  return String(value).padStart(2, '0')
}

/** RUNNING as "running", WAITING_DEPENDENCIES as "waiting dependencies". */
export function words(code: string): string {
  return code.toLowerCase().replaceAll('_', ' ')
}

/** The origin of an execution: "schedule", "manual". */
export function sourceOf(kind: string): string {
  return { slot: 'schedule', trigger: 'manual' }[kind] ?? words(kind)
}

/** The last part of an id: enough to tell two apart, short enough to read. */
export function shortId(id: string): string {
  return id.slice(-8)
}
