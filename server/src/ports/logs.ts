// Log lines that attempts write while they run. Bounded: of each attempt the first `logBytesMax` are kept.
import type { LogLine } from '../domain/history/log.ts'

export interface Logs {
  /** Safe to repeat: lines that are there are not written again. */
  append(parts: readonly LogPart[]): Promise<void>
  /** In order of attempts and lines, behind `after`. */
  read(query: LogQuery): Promise<LogPage>
  /** Deletes logs of executions that were made more than `days` ago, at most `max` rows; returns how many. */
  prune(days: number, max: number): Promise<number>
}

export interface LogPart {
  tenantId: string
  executionId: string
  attempt: number
  /** The number of its first line in the log of the attempt, from 0. */
  firstLine: number
  lines: readonly LogLine[]
}

export interface LogQuery {
  tenantId: string
  executionId: string
  /** Only of this attempt; null: of all. */
  attempt: number | null
  after: { attempt: number; line: number } | null
  limit: number
  /** Default `pageItemsBytesMax`. */
  bytesMax?: number
}

/** At least one line, if there are any; it ends before the line that would take it over its bytes. */
export interface LogPage {
  lines: LogEntry[]
  /** Whether there are lines behind the page. */
  more: boolean
}

export interface LogEntry extends LogLine {
  attempt: number
  line: number
}
