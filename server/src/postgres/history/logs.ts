// Logs of attempts on PostgreSQL.
import {
  fitLines,
  keepLines,
  type LogLevel,
  type LogLine,
  type StorageRoom,
} from '../../domain/history/log.ts'
import type { EpochMs } from '../../lib/time/epoch.ts'
import type { LogEntry, LogPage, LogPart, LogQuery, Logs } from '../../ports/logs.ts'
import { pageItemsBytesMax } from '../../ports/pages.ts'
import { recountStorage } from '../access/tenant-room.ts'
import type { Database, Queries } from '../connection/database.ts'
import type { RowOf } from '../sql/item.ts'
import { logItem, logRangeItem } from './items.ts'
import { LogStorage } from './log-storage.ts'
import * as statements from './logs.sql.ts'

export class PostgresLogs implements Logs {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async append(parts: readonly LogPart[]): Promise<void> {
    if (parts.length === 0) return
    const uncounted = await this.#database.transaction(async (queries) => {
      const ids = parts.map(({ executionId }) => executionId)
      await queries.query(statements.lockLogs, [ids])
      const storage = new LogStorage(queries)
      // Parts of the same attempt go one after the other: each adds to the stored lines.
      for (const round of roundsOf(parts)) await appendRound(queries, round, storage)
      await storage.write()
      return storage.uncounted()
    })
    // Not in the transaction: other logs would wait for the count.
    for (const tenantId of uncounted) await recountStorage(this.#database, tenantId)
  }

  async read(query: LogQuery): Promise<LogPage> {
    const { tenantId, executionId, attempt, after, limit, bytesMax = pageItemsBytesMax } = query
    const from = after ?? { attempt: -1, line: -1 }
    const values = [tenantId, executionId, attempt, from.attempt, from.line, limit, bytesMax]
    const { rows } = await this.#database.query<LogRow>(statements.selectLogs, values)
    const entries = rows.flatMap(({ attempt: number, first_line: first, lines }) =>
      lines.map(([at, level, message], index) => ({
        attempt: number,
        line: first + index,
        at,
        level,
        message,
      })),
    )
    const isBehind = ({ attempt: number, line }: LogEntry) =>
      number > from.attempt || (number === from.attempt && line > from.line)
    const behind = entries.filter(isBehind)
    const page = fitLines(behind.slice(0, limit), bytesMax)
    const isCut = (rows[0]?.picked_count ?? 0) > rows.length
    return { lines: page, more: isCut || behind.length > page.length }
  }

  async prune(days: number, max: number): Promise<number> {
    const { count } = await this.#database.query(statements.pruneLogs, [days, max])
    if (count < max) await this.#database.query(statements.pruneLogDays, [days])
    return count
  }
}

/** Each round has at most one part of an attempt. */
function roundsOf(parts: readonly LogPart[]): LogPart[][] {
  const rounds: LogPart[][] = []
  const counts = new Map<string, number>()
  for (const part of parts) {
    const name = `${part.executionId} ${part.attempt}`
    const round = counts.get(name) ?? 0
    counts.set(name, round + 1)
    rounds[round] ??= []
    rounds[round].push(part)
  }
  return rounds
}

async function appendRound(queries: Queries, parts: readonly LogPart[], storage: LogStorage): Promise<void> {
  const asked = parts.map((part, number) => ({ ...part, number, lineCount: part.lines.length }))
  const { rows } = await queries.query<RangeRow>(statements.selectLogRanges, [logRangeItem.encode(asked)])
  const items: RowOf<typeof logItem>[] = []
  for (const { number, storage_limit: limit, bytes, ranges } of rows) {
    const part = parts[number]!
    const room = limit === null ? null : await storage.roomOf(part.tenantId, limit)
    const fresh = toItems(part, { bytesBefore: bytes, ranges, room })
    items.push(...fresh.items)
    if (room !== null) storage.add(part, fresh.stored)
  }
  if (items.length > 0) await queries.query(statements.insertLogs, [logItem.encode(items)])
}

interface NumberedLine {
  line: LogLine
  number: number
}

/** Drops lines that are already stored; the remaining lines may form several runs. */
function toItems(
  part: LogPart,
  { bytesBefore, ranges, room }: Pick<RangeRow, 'ranges'> & { bytesBefore: number; room: StorageRoom | null },
): { items: RowOf<typeof logItem>[]; stored: number } {
  const isThere = (number: number) =>
    ranges.some(([first, count]) => number >= first && number < first + count)
  const fresh = part.lines
    .map((line, index): NumberedLine => ({ line, number: part.firstLine + index }))
    .filter(({ number }) => !isThere(number))
  const { lines, bytes, stored } = keepLines(
    fresh.map(({ line }) => line),
    bytesBefore,
    room,
  )
  const runs = runsOf(lines.map((line, index) => ({ line, number: fresh[index]!.number })))
  const items = runs.map((run, index) => ({
    ...part,
    firstLine: run[0]!.number,
    lineCount: run.length,
    // Only their sum is asked for.
    bytes: index === 0 ? bytes - bytesBefore : 0,
    lines: JSON.stringify(run.map(({ line: { at, level, message } }) => [at, level, message])),
  }))
  return { items, stored }
}

function runsOf(lines: readonly NumberedLine[]): NumberedLine[][] {
  const runs: NumberedLine[][] = []
  for (const one of lines) {
    const run = runs.at(-1)
    if (run?.at(-1)?.number === one.number - 1) run!.push(one)
    else runs.push([one])
  }
  return runs
}

interface RangeRow {
  number: number
  /** Null: its tenant has no limit on its storage. */
  storage_limit: number | null
  bytes: number
  /** First line and count. */
  ranges: [number, number][]
}

interface LogRow {
  attempt: number
  first_line: number
  lines: [EpochMs, LogLevel, string][]
  /** Rows that have lines of the page, by their number. */
  picked_count: number
}
