// Wake-ups: at once within this process, and by a NOTIFY to the others. A NOTIFY is a hint in a transaction of its
// own: the first at once, then at most one every few milliseconds for all topics, as one per row would serialise commits.
// Any may be lost.
import pg from 'pg'
import { Unavailable } from '../../lib/unavailable.ts'
import type { Timer, Timers } from '../../ports/timers.ts'
import { WAKEUP_TOPICS, type Wakeup, type WakeupTopic } from '../../ports/wakeup.ts'
import { addressOf, type Database, type DatabaseAddress, isConnectionError, isReadOnly } from './database.ts'
import { notifyTopic } from './wakeup.sql.ts'

export interface WakeupDeps {
  timers: Timers
  database: Database
  address: DatabaseAddress
}

const coalesceMs = 50
/** A connection that hears nothing may be dead, or lead to a server that nobody writes to any more. */
const askEveryMs = 5_000
const answerMsMax = 5_000

export class DatabaseWakeup implements Wakeup, AsyncDisposable {
  readonly #deps: WakeupDeps
  readonly #listeners = new Map<WakeupTopic, (() => void)[]>()
  /** Tells our own notifications from those of others. */
  readonly #self: string
  readonly #due = new Set<WakeupTopic>()
  /** While it runs, what is due waits for its end. */
  #timer: Timer | null = null
  #client: pg.Client | null = null

  constructor(deps: WakeupDeps, self: string) {
    this.#deps = deps
    this.#self = self
  }

  on(topic: WakeupTopic, listener: () => void): void {
    this.#listeners.set(topic, [...(this.#listeners.get(topic) ?? []), listener])
  }

  send(topic: WakeupTopic): void {
    this.#wake(topic)
    this.#due.add(topic)
    if (this.#timer === null) this.#notify()
  }

  /** Listens until the connection breaks or the signal aborts. A step for a Loop. */
  async listen(signal: AbortSignal): Promise<'idle'> {
    const client = new pg.Client({
      ...addressOf(this.#deps.address),
      application_name: 'carillon listen',
      // It sends hints too, and a hint waits for no disk: the commit that it tells of has, and so will the claim after it.
      options: '-c synchronous_commit=off',
      connectionTimeoutMillis: 5_000,
      query_timeout: answerMsMax,
      keepAlive: true,
    })
    const over = new AbortController()
    const ended = Promise.withResolvers<void>()
    client.on('error', (error) => ended.reject(error))
    client.on('end', () => ended.resolve())
    client.on('notification', ({ payload }) => this.#hear(payload ?? ''))
    const stop = () => void client.end().catch(() => {})
    signal.addEventListener('abort', stop)
    try {
      // A client that is ended while it connects never says so: a stop right after the start would wait for ever.
      await Promise.race([client.connect(), ended.promise])
      if (signal.aborted) return 'idle'
      await client.query('LISTEN carillon')
      this.#client = client
      // Whatever was sent while we did not listen.
      for (const topic of WAKEUP_TOPICS) this.#wake(topic)
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

  async [Symbol.asyncDispose](): Promise<void> {
    this.#timer?.cancel()
    await this.#client?.end().catch(() => {})
  }

  async #untilUseless(client: pg.Client, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#deps.timers.wait(askEveryMs, signal)
      if (signal.aborted || (await isReadOnly(client))) return
    }
  }

  #wake(topic: WakeupTopic): void {
    for (const listener of this.#listeners.get(topic) ?? []) listener()
  }

  #hear(payload: string): void {
    const [from, ...topics] = payload.split(' ')
    if (from === this.#self) return
    for (const topic of WAKEUP_TOPICS) if (topics.includes(topic)) this.#wake(topic)
  }

  #notify(): void {
    const values = [`${this.#self} ${[...this.#due].join(' ')}`]
    this.#due.clear()
    const client = this.#client
    const sent = client?.query({ ...notifyTopic, values }) ?? this.#deps.database.query(notifyTopic, values)
    // A hint that cannot be sent is a hint lost; and who cannot send does not hear either.
    const answered = sent.then(
      () => {},
      () => client?.end().catch(() => {}),
    )
    const gathered = Promise.withResolvers<void>()
    this.#timer = this.#deps.timers.schedule(coalesceMs, gathered.resolve)
    // One at a time: what comes meanwhile is sent together.
    void Promise.all([answered, gathered.promise]).then(() => {
      this.#timer = null
      if (this.#due.size > 0) this.#notify()
    })
  }
}
