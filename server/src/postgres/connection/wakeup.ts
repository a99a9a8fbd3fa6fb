// Wake-ups between processes by NOTIFY and LISTEN. A NOTIFY is a hint in a transaction of its own; any may be lost.
import pg from 'pg'
import { Unavailable } from '../../lib/unavailable.ts'
import type { Timers } from '../../ports/timers.ts'
import { WAKEUP_TOPICS, type WakeupTopic } from '../../ports/wakeup.ts'
import { CoalescingWakeup } from './coalescing-wakeup.ts'
import { addressOf, type Database, type DatabaseAddress, isConnectionError, isReadOnly } from './database.ts'
import { notifyTopic } from './wakeup.sql.ts'

export interface WakeupDeps {
  timers: Timers
  database: Database
  address: DatabaseAddress
}

/** A connection without messages may be dead, or lead to a server that no longer gets writes. */
const askEveryMs = 5_000
const answerMsMax = 5_000

export class DatabaseWakeup extends CoalescingWakeup implements AsyncDisposable {
  readonly #deps: WakeupDeps
  /** Tells our own notifications from the ones of other processes. */
  readonly #self: string
  #client: pg.Client | null = null

  constructor(deps: WakeupDeps, self: string) {
    super(deps.timers, (topics) => this.#notify(topics))
    this.#deps = deps
    this.#self = self
  }

  /** Listens until the connection breaks or the signal aborts. A step for a Loop. */
  async listen(signal: AbortSignal): Promise<'idle'> {
    const client = new pg.Client({
      ...addressOf(this.#deps.address),
      application_name: 'carillon listen',
      // It sends hints too, and a hint does not wait for the disk: the commit before it did, and so will the claim after it.
      options: '-c synchronous_commit=off',
      connectionTimeoutMillis: 5_000,
      query_timeout: answerMsMax,
      keepAlive: true,
    })
    const over = new AbortController()
    const ended = Promise.withResolvers<void>()
    client.on('error', (error) => ended.reject(error))
    client.on('end', () => ended.resolve())
    client.on('notification', ({ payload }) => this.#hearOthers(payload ?? ''))
    const stop = () => void client.end().catch(() => {})
    signal.addEventListener('abort', stop)
    try {
      // A client that is ended while it connects never says so: a stop right after the start would wait for ever.
      await Promise.race([client.connect(), ended.promise])
      if (signal.aborted) return 'idle'
      await client.query('LISTEN carillon')
      this.#client = client
      // Covers anything sent while we did not listen.
      this.hear(WAKEUP_TOPICS)
      await Promise.race([ended.promise, this.#untilUseless(client, over.signal)])
      return 'idle'
    } catch (error) {
      throw isConnectionError(error) ? new Unavailable('the database', { cause: error }) : error
    } finally {
      over.abort()
      signal.removeEventListener('abort', stop)
      this.#client = null
      await client.end().catch(() => {})
    }
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    await super[Symbol.asyncDispose]()
    await this.#client?.end().catch(() => {})
  }

  async #untilUseless(client: pg.Client, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#deps.timers.wait(askEveryMs, signal)
      if (signal.aborted || (await isReadOnly(client))) return
    }
  }

  #hearOthers(payload: string): void {
    const [from, ...topics] = payload.split(' ')
    if (from !== this.#self) this.hear(WAKEUP_TOPICS.filter((topic) => topics.includes(topic)))
  }

  async #notify(topics: readonly WakeupTopic[]): Promise<void> {
    const values = [`${this.#self} ${topics.join(' ')}`]
    const client = this.#client
    try {
      await (client?.query({ ...notifyTopic, values }) ?? this.#deps.database.query(notifyTopic, values))
    } catch {
      // A hint that cannot be sent is a hint lost; and a process that cannot send does not hear either.
      await client?.end().catch(() => {})
    }
  }
}
