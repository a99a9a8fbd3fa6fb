// Logs of attempts in memory.
import { fitLines, keepLines } from '../../src/domain/history/log.ts'
import { dayMs } from '../../src/lib/time/units.ts'
import type { LogEntry, LogPage, LogPart, LogQuery, Logs } from '../../src/ports/logs.ts'
import { pageItemsBytesMax } from '../../src/ports/pages.ts'
import type { LogRow } from './rows.ts'
import type { MemoryStore } from './store.ts'
import type { MemoryTenantRoom } from './tenant-room.ts'

export class MemoryLogs implements Logs {
  readonly #store: MemoryStore
  readonly #room: Pick<MemoryTenantRoom, 'logRoomOf'>

  constructor(store: MemoryStore, room: Pick<MemoryTenantRoom, 'logRoomOf'>) {
    this.#store = store
    this.#room = room
  }

  async append(parts: readonly LogPart[]): Promise<void> {
    for (const part of parts) {
      const row = this.#open(part)
      const fresh = part.lines
        .map((line, index) => ({ line, number: part.firstLine + index }))
        .filter(({ number }) => !row.lines.has(number))
      const { lines, bytes, stored } = keepLines(
        fresh.map(({ line }) => line),
        row.bytes,
        this.#room.logRoomOf(part.tenantId),
      )
      row.bytes = bytes
      row.stored += stored
      for (const [index, line] of lines.entries()) row.lines.set(fresh[index]!.number, line)
    }
  }

  async read(query: LogQuery): Promise<LogPage> {
    const { tenantId, executionId, attempt, after, limit, bytesMax = pageItemsBytesMax } = query
    const logs = [...(this.#store.logs.get(executionId) ?? [])].toSorted(([a], [b]) => a - b)
    const behind = logs
      .filter(([number, row]) => row.tenantId === tenantId && (attempt === null || number === attempt))
      .flatMap(([number, { lines }]) =>
        [...lines]
          .toSorted(([a], [b]) => a - b)
          .map(([line, said]): LogEntry => ({ attempt: number, line, ...said })),
      )
      .filter((entry) => after === null || isBehind(entry, after))
    const lines = fitLines(behind.slice(0, limit), bytesMax)
    return { lines, more: behind.length > lines.length }
  }

  async prune(days: number, max: number): Promise<number> {
    const before = this.#store.now() - days * dayMs
    // The id of an execution begins with the millisecond it was made in.
    const madeAt = (executionId: string) => Number.parseInt(executionId.replace('-', '').slice(0, 12), 16)
    const old = [...this.#store.logs.keys()]
      .filter((executionId) => madeAt(executionId) < before)
      .slice(0, max)
    for (const executionId of old) this.#store.logs.delete(executionId)
    return old.length
  }

  #open({ tenantId, executionId, attempt }: LogPart): LogRow {
    const attempts = this.#store.logs.get(executionId) ?? new Map<number, LogRow>()
    const row = attempts.get(attempt) ?? { tenantId, lines: new Map(), bytes: 0, stored: 0 }
    this.#store.logs.set(executionId, attempts.set(attempt, row))
    return row
  }
}

function isBehind(entry: LogEntry, after: { attempt: number; line: number }): boolean {
  return entry.attempt > after.attempt || (entry.attempt === after.attempt && entry.line > after.line)
}
