// The log of an attempt: lines, as its runner sent them.
import type { LogLevel } from '@carillon/contract/constants.ts'
import type { EpochMs } from '../../lib/time/epoch.ts'

export type { LogLevel } from '@carillon/contract/constants.ts'

export interface LogLine {
  at: EpochMs
  level: LogLevel
  message: string
}

/** Per attempt; later lines are not kept, and the last line says so. */
export const logBytesMax = 256 * 1024
/** A longer line is cut. */
export const logLineLengthMax = 8_192
/** The cost of a line besides its text, so that empty lines are bounded too. */
export const logLineBytes = 32

/** In one run of an attempt; 256 KB have no more. */
const linesOfRunMax = 1_000_000
const runsMax = 2_000

/**
 * Where the lines of a claim begin in the log of its attempt. An execution that was handed back while it ran is run
 * again under the same number: its second log follows the first and is not taken for a repetition of it.
 */
export function firstLineOf({ attempt, fence }: { attempt: number; fence: number }): number {
  return linesOfRunMax * Math.min(runsMax, Math.max(0, fence - attempt))
}

/** Per attempt: one for each claim of it, and all of these behind every line of its own. */
const refusedMax = 1_000

export interface RefusedResult {
  attempt: number
  fence: number
  /** Null: the holder of the token of the attempt. */
  workerId: string | null
  /** Such as `SUCCEEDED, HTTP 200`; null: it had not ended, and was stopped. */
  said: string | null
  /** The attempt has another result on record, with the same status. */
  differs?: boolean
}

/** The log line about a result that came too late, and its position in the log of its attempt. */
export function lineOfRefused(
  { attempt, fence, workerId, said, differs = false }: RefusedResult,
  at: EpochMs,
): { firstLine: number; lines: LogLine[] } {
  const who = workerId === null ? 'its target' : `worker ${workerId}`
  const over = workerId === null ? 'the attempt was over' : 'the execution had been taken from it'
  const why = differs ? 'another one was recorded before' : over
  const message =
    said === null
      ? `Attempt ${attempt} was stopped at ${who}: ${why}.`
      : `A late result of attempt ${attempt} (${said}) from ${who} was refused: ${why}.`
  const firstLine = linesOfRunMax * (runsMax + 1) + Math.min(refusedMax, Math.max(0, fence - attempt))
  return { firstLine, lines: [{ at, level: 'warn', message }] }
}

const logCutMessage = 'The log is cut here: of each attempt the first 256 KB are kept.'
const storageCutMessage =
  'The log is cut here: the tenant has reached storage_bytes_max of its tier. Later attempts are kept again once there is room.'
/** Marks are kept up to this part of the limit beyond it, so that they cannot fill the storage by themselves. */
const marksOfLimit = 64

/** The storage left to a tenant. */
export interface StorageRoom {
  limit: number
  /** Below 0: it is beyond the limit. */
  room: number
}

/**
 * The lines that are kept after so many earlier bytes, and the new number of bytes; after a cut it exceeds the limit.
 * `stored`: the bytes of these lines. A tenant without room gets no line but a mark, with which the log of the attempt ends.
 */
export function keepLines(
  lines: readonly LogLine[],
  bytesBefore: number,
  storage: StorageRoom | null = null,
): { lines: LogLine[]; bytes: number; stored: number } {
  const kept: LogLine[] = []
  let bytes = bytesBefore
  let stored = 0
  const keep = (line: LogLine, more: number) => {
    kept.push(line)
    stored += more
  }
  const room = storage?.room ?? Number.POSITIVE_INFINITY
  for (const { at, level, message: given } of lines) {
    if (bytes > logBytesMax) break
    const message = given.slice(0, logLineLengthMax)
    const more = bytesOfLine(message)
    const isLong = bytes + more > logBytesMax
    if (!isLong && stored + more <= room) {
      keep({ at, level, message }, more)
      bytes += more
      continue
    }
    const mark = isLong ? logCutMessage : storageCutMessage
    if (stored + bytesOfLine(mark) > room + (storage === null ? 0 : storage.limit / marksOfLimit)) break
    keep({ at, level: 'warn', message: mark }, bytesOfLine(mark))
    bytes = logBytesMax + 1
  }
  return { lines: kept, bytes, stored }
}

function bytesOfLine(message: string): number {
  return logLineBytes + Buffer.byteLength(message)
}

/** Of a line in an answer besides its text: the names of its fields, its numbers and its instant. */
const shownLineBytes = 128

/** The first lines that fit, as JSON, into so many bytes; one at least, if there are any. */
export function fitLines<Line extends LogLine>(lines: readonly Line[], bytesMax: number): Line[] {
  let bytes = 0
  const over = lines.findIndex(({ message }, index) => {
    bytes += shownLineBytes + Buffer.byteLength(JSON.stringify(message))
    return index > 0 && bytes > bytesMax
  })
  return over === -1 ? [...lines] : lines.slice(0, over)
}
