// Colours, of which there are few, and the signs that say the same without colour.
import { styleText } from 'node:util'
import type { Io, TerminalOut } from './io.ts'

export type Tone = 'bold' | 'dim' | 'good' | 'bad' | 'warn' | 'busy' | 'quiet'

const formats = {
  bold: 'bold',
  dim: 'dim',
  good: 'green',
  bad: 'red',
  warn: 'yellow',
  busy: 'blue',
  quiet: 'gray',
} as const satisfies Record<Tone, string>

export type Paint = (text: string, tone: Tone | undefined) => string

/** NO_COLOR and FORCE_COLOR decide, else whether somebody looks. */
export function paintFor(stream: TerminalOut, env: Io['env']): Paint {
  const forced = env['FORCE_COLOR'] !== undefined && env['FORCE_COLOR'] !== '0'
  const off = (env['NO_COLOR'] ?? '') !== '' || env['TERM'] === 'dumb'
  if (off || !(forced || stream.isTTY === true)) return (text) => text
  return (text, tone) =>
    tone === undefined || text === '' ? text : styleText(formats[tone], text, { validateStream: false })
}

const statusTones: Readonly<Record<string, Tone>> = {
  ACTIVE: 'good',
  SUCCEEDED: 'good',
  COMPLETED: 'quiet',
  RUNNING: 'busy',
  RETRYING: 'warn',
  PAUSED: 'warn',
  DRAINING: 'warn',
  TIMED_OUT: 'bad',
  FAILED: 'bad',
  DEAD: 'bad',
  DELETED: 'quiet',
  CANCELLED: 'quiet',
  CANCELLING: 'quiet',
  SKIPPED: 'quiet',
}
const statusSigns: Readonly<Record<string, string>> = {
  ACTIVE: '●',
  SUCCEEDED: '✓',
  COMPLETED: '✓',
  RUNNING: '▶',
  RETRYING: '↻',
  PAUSED: '‖',
  FAILED: '✗',
  TIMED_OUT: '✗',
  DEAD: '✗',
  CANCELLED: '–',
  CANCELLING: '–',
  SKIPPED: '–',
  DELETED: '–',
}

/** A status as a cell: sign, word and colour on a terminal, the word alone for programs. */
export function statusCell(status: string): { text: string; exact: string; tone: Tone } {
  const word = status.toLowerCase().replaceAll('_', ' ')
  return {
    text: `${statusSigns[status] ?? '○'} ${word}`,
    exact: status,
    tone: statusTones[status] ?? 'dim',
  }
}
