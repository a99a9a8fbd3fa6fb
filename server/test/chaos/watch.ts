// Records the holder of each partition and execution, as the tables say, whenever it changes: polls every 100 ms on a
// connection of its own. While PostgreSQL does not answer there is nothing to see, and the next line has the state
// found afterwards.
import { join } from 'node:path'
import type pg from 'pg'
import { realTimers } from '../../src/lib/time/timers.ts'
import { FILES, LineWriter, type WatchLine } from './history.ts'
import type { ChaosPostgres } from './postgres.ts'

const everyMs = 100
const select = `
  SELECT (SELECT json_agg(scheduler_id ORDER BY partition_id) FROM partitions) AS holders,
    (SELECT coalesce(json_agg(scheduler_id ORDER BY scheduler_id), '[]') FROM schedulers) AS schedulers,
    (SELECT coalesce(json_agg(worker_id ORDER BY worker_id), '[]') FROM workers) AS workers`

export class Watch implements AsyncDisposable {
  /** Partitions that nobody held at the last look. */
  unheld = 0
  readonly #postgres: ChaosPostgres
  readonly #lines: LineWriter
  readonly #stop = new AbortController()
  readonly #done: Promise<void>
  #client: pg.Client | null = null
  #last = ''

  constructor(dir: string, postgres: ChaosPostgres) {
    this.#postgres = postgres
    this.#lines = new LineWriter(join(dir, FILES.watch))
    this.#done = this.#go()
  }

  async #go(): Promise<void> {
    const { signal } = this.#stop
    while (!signal.aborted) {
      await this.#look().catch(() => this.#disconnect())
      await realTimers.wait(everyMs, signal)
    }
  }

  async #look(): Promise<void> {
    this.#client ??= await this.#postgres.connect()
    const at = Date.now()
    const { rows } = await this.#client.query<Omit<WatchLine, 'at'>>(select)
    const seen = rows[0]!
    const text = JSON.stringify(seen)
    if (text === this.#last) return
    this.#last = text
    this.unheld = seen.holders.filter((holder) => holder === null).length
    this.#lines.write({ at, ...seen })
  }

  async #disconnect(): Promise<void> {
    const client = this.#client
    this.#client = null
    await client?.end().catch(() => {})
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort()
    await this.#done
    await this.#disconnect()
    this.#lines.close()
  }
}
