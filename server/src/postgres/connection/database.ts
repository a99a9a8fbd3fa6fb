// A pool of connections to PostgreSQL. A connection that broke is destroyed and replaced; a statement that failed (a
// broken constraint, say) keeps its connection. Every wait has a limit, on both ends of the wire. Only a server that
// takes writes is used: the answers of a standby, or of a former primary, are old.
import pg from 'pg'
import { programRole } from '../../lib/program-role.ts'
import type { Sql } from '../../lib/sql.ts'
import { DiskFull, Unavailable } from '../../lib/unavailable.ts'
import type { Random } from '../../ports/random.ts'
import type { Timers } from '../../ports/timers.ts'
import { connectionLost } from '../../telemetry/events.ts'
import { prepareTransaction, queryInTransaction, type TransactionBounds } from './pipelined-transaction.ts'
import { rowTypes } from './rows.ts'

/** A URL, or the directory of a Unix socket. */
export type DatabaseAddress = { url: string } | { socketDir: string; database: string }

export interface DatabaseOptions {
  /** Names the pool in logs and the sessions in pg_stat_activity. */
  name: string
  address: DatabaseAddress
  connectionsMax: number
  /** The longest a statement may run. Default 5,000. */
  statementMs?: number
  /** Called when a statement found no room on the disk. */
  onDiskFull?: () => void
  /** Waits for the right to use a connection, and returns how to give it back. Default: the first to come has it. */
  takeTurn?: () => Promise<() => void>
  /** Row-level security holds for all that the pool does. Default: it acts as the owner of the tables. */
  actsAs?: ActingRole
}

export interface ActingRole {
  /** A role that the user of the address may set. */
  role: string
  /** Of the tables: a role of another name does not find them by "$user". */
  schemas: string
  /** The tenant that a transaction is for, asked at its beginning; null: none, and it sees no row of any tenant. */
  tenant: () => string | null
}

export interface DatabaseDeps {
  timers: Timers
  random: Random
}

export interface Rows<R> {
  rows: R[]
  /** Rows returned or changed. */
  count: number
}

export interface Queries {
  /** `last`: nothing follows in this transaction if it succeeds, so that it may be committed with it. */
  query<R extends object>(statement: Sql, values: readonly unknown[], last?: 'last'): Promise<Rows<R>>
}

/** The connection of a store: the database, or a transaction of it that is under way. */
export interface Transactions extends Queries {
  transaction<T>(work: (queries: Queries) => Promise<T>): Promise<T>
  /** Whether a transaction is under way: an error in it ends all of it. */
  readonly isNested: boolean
}

const plannerOptions = '-c plan_cache_mode=force_generic_plan -c enable_seqscan=off -c jit=off'
const bugs = [TypeError, RangeError, ReferenceError, SyntaxError]
const connectMsMax = 5_000
/** How much later than the server's own limit our side gives up. */
const answerMsMax = 1_000
const transactionTriesMax = 5
/** Deadlock and serialisation failure: PostgreSQL rolled back, and the same work may succeed next time. */
const repeatable: readonly string[] = ['40P01', '40001']

export class Database implements Transactions, AsyncDisposable {
  readonly isNested = false
  readonly #pool: pg.Pool
  readonly #deps: DatabaseDeps
  readonly #onDiskFull: () => void
  readonly #takeTurn: (() => Promise<() => void>) | null
  readonly #actsAs: ActingRole | null
  /** Connections nothing speaks against. */
  #trusted = new WeakSet<pg.ClientBase>()

  constructor(deps: DatabaseDeps, options: DatabaseOptions) {
    const { name, address, connectionsMax, statementMs = 5_000 } = options
    const { onDiskFull = () => {}, takeTurn, actsAs } = options
    this.#deps = deps
    this.#onDiskFull = onDiskFull
    this.#takeTurn = takeTurn ?? null
    this.#actsAs = actsAs ?? null
    this.#pool = new pg.Pool({
      ...addressOf(address),
      application_name: `carillon ${name}`,
      max: connectionsMax,
      types: rowTypes,
      // Statements that are not waited for go out one behind the other; all that follow a failed one fail too.
      pipeline: true,
      // Statements are prepared and of fixed shape: planned once a connection, not once a call (planning a fire took
      // a third of it), and by index also while a table is too young to have statistics.
      options: `${plannerOptions}${actsAs === undefined ? '' : ` -c role=${actsAs.role} -c search_path=${actsAs.schemas}`}`,
      keepAlive: true,
      // Covers the wait for a free connection too.
      connectionTimeoutMillis: connectMsMax,
      // Connections stay: a herd that had to open them, and to prepare its statements on each, would start late. The
      // database has one for every place in every pool (wiring/connections.ts), so an idle one is in nobody's way.
      idleTimeoutMillis: 0,
      statement_timeout: statementMs,
      lock_timeout: Math.min(3_000, statementMs),
      // Part of correctness: a paused process must not hold row locks against its successor.
      idle_in_transaction_session_timeout: 2_000,
      // A backend that hangs answers no statement_timeout; our side gives up by itself.
      query_timeout: statementMs + answerMsMax,
      onConnect: (client) => refuseReadOnly(client, actsAs !== undefined),
    })
    // Without listeners on the pool and on every client, a killed backend would end our process.
    this.#pool.on('error', (error: Error & { code?: string }) => {
      // The pool reports its end before its connections have ended: their errors after that are no news.
      if (this.#pool.ending) return
      // The driver attaches the whole client to the error; a log only needs the event.
      connectionLost.emit({ pool: name, code: error.code ?? '', reason: error.message })
    })
    this.#pool.on('connect', (client) => {
      client.on('error', () => {})
      this.#trusted.add(client)
    })
  }

  query<R extends object>(statement: Sql, values: readonly unknown[]): Promise<Rows<R>> {
    const tenant = this.#tenant()
    return this.#repeat((client) =>
      // One round trip either way.
      tenant === undefined
        ? run<R>(client, statement, values)
        : runTransaction(client, (queries) => queries.query<R>(statement, values, 'last'), tenant),
    )
  }

  /** A change of the schema that takes no parameters, outside of any transaction. The text must be ours alone. */
  async define(text: string): Promise<void> {
    await this.#withClient((client) => send(client, { text }))
  }

  /** One transaction, repeated when PostgreSQL asks for it: `work` must have no other effect. */
  transaction<T>(work: (queries: Queries) => Promise<T>): Promise<T> {
    const tenant = this.#tenant()
    return this.#repeat((client) => runTransaction(client, work, tenant))
  }

  /** Undefined: it acts as the owner. */
  #tenant(): string | undefined {
    return this.#actsAs === null ? undefined : (this.#actsAs.tenant() ?? '')
  }

  async #repeat<T>(use: (client: pg.PoolClient) => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries++) {
      try {
        return await this.#withClient(use)
      } catch (error) {
        if (tries === transactionTriesMax || !repeatable.includes((error as { code?: string }).code ?? ''))
          throw error
        await this.#deps.timers.wait(this.#deps.random.next() * 10 * 2 ** tries)
      }
    }
  }

  /** Lets running statements end; further ones are refused. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#pool.ended) await this.#pool.end()
  }

  async #withClient<T>(use: (client: pg.PoolClient) => Promise<T>): Promise<T> {
    if (this.#takeTurn === null) return this.#withFreeClient(use)
    const endTurn = await this.#takeTurn()
    try {
      return await this.#withFreeClient(use)
    } finally {
      endTurn()
    }
  }

  async #withFreeClient<T>(use: (client: pg.PoolClient) => Promise<T>): Promise<T> {
    const client = await this.#connect().catch((error: unknown) => {
      throw new Unavailable('the database', { cause: error })
    })
    let broken = false
    try {
      return await use(client)
    } catch (error) {
      broken = error instanceof ConnectionBroken
      if (error instanceof DiskFull || isDiskFull((error as Error).cause)) this.#onDiskFull()
      if (broken && concernsAll((error as Error).cause)) this.#trusted = new WeakSet()
      throw error
    } finally {
      client.release(broken)
    }
  }

  async #connect(): Promise<pg.PoolClient> {
    while (true) {
      const client = await this.#pool.connect()
      if (this.#trusted.has(client)) return client
      client.release(true)
    }
  }
}

/** Lets stores take part in a transaction that is under way. */
export function within(queries: Queries): Transactions {
  // The last statement of a part is not the last one of the whole.
  const query: Queries['query'] = (statement, values) => queries.query(statement, values)
  return { query, transaction: (work) => work({ query }), isNested: true }
}

export function addressOf(address: DatabaseAddress): pg.ClientConfig {
  if ('url' in address) return { connectionString: address.url }
  return { host: address.socketDir, database: address.database, user: programRole }
}

async function run<R extends object>(
  client: pg.ClientBase,
  { name, text }: Sql,
  values: readonly unknown[],
  bounds?: TransactionBounds,
): Promise<Rows<R>> {
  const { rows, rowCount } = await send<R>(client, { name, text, values: values as unknown[] }, bounds)
  return { rows, count: rowCount ?? 0 }
}

async function runTransaction<T>(
  client: pg.ClientBase,
  work: (queries: Queries) => Promise<T>,
  tenant?: string,
): Promise<T> {
  const at: { state: 'none' | 'open' | 'ending' | 'committed'; underWay: number } = {
    state: 'none',
    underWay: 0,
  }
  const query: Queries['query'] = async (statement, values, last) => {
    if (at.state === 'ending' || at.state === 'committed')
      throw new Error(`${statement.name} comes after the last one of its transaction`)
    const begins = at.state === 'none'
    const bounds = {
      ...{ begins, ends: last !== undefined, behind: at.underWay },
      ...(tenant !== undefined && { tenant }),
    }
    at.state = bounds.ends ? 'ending' : 'open'
    at.underWay += 1
    try {
      const rows = await run<never>(client, statement, values, bounds)
      if (bounds.ends) at.state = 'committed'
      return rows
    } finally {
      at.underWay -= 1
    }
  }
  try {
    const result = await work({ query })
    if (at.state === 'none' || at.state === 'committed') return result
    const { command } = await send(client, { text: 'COMMIT' })
    // A transaction that failed inside answers COMMIT with ROLLBACK and no error.
    if (command !== 'COMMIT') throw new Error(`the transaction was rolled back: COMMIT answered ${command}`)
    return result
  } catch (error) {
    const isOpen = at.state === 'open' || at.state === 'ending'
    if (isOpen && !(error instanceof ConnectionBroken)) await send(client, { text: 'ROLLBACK' })
    throw error
  }
}

async function send<R extends object>(
  client: pg.ClientBase,
  query: pg.QueryConfig,
  bounds?: TransactionBounds,
): Promise<pg.QueryResult<R>> {
  try {
    return bounds === undefined
      ? await client.query<R>(query)
      : await queryInTransaction<R>(client, query, bounds)
  } catch (error) {
    if (isConnectionError(error) || isFatal(error))
      throw new ConnectionBroken('the database', { cause: error })
    if (isDiskFull(error)) throw new DiskFull({ cause: error })
    if (isOverloaded(error)) throw new Unavailable('the database', { cause: error })
    throw error
  }
}

/** The connection is of no more use. */
class ConnectionBroken extends Unavailable {}

/** Whether the connection, not the statement, failed. For errors of the driver only. */
export function isConnectionError(error: unknown): boolean {
  // Raised by the driver or the socket; but a bug is a bug, wherever it is raised.
  if (!(error instanceof pg.DatabaseError)) return !bugs.some((type) => error instanceof type)
  const code = error.code ?? ''
  // 08: connection; 53300: too many connections; 57P01 to 57P05: shutdown, crash, start, idle session.
  // 25P03: our own idle-in-transaction limit, which ends the session.
  // 25006: the server takes no writes, as a standby, or a primary after a failover; another one does.
  // 26000: a statement prepared on the connection is gone.
  return /^(08|57P0[1-5]$|53300$|25P03$|25006$|26000$)/.test(code) || isOutdated(error)
}

/** A newer version has changed a table of a statement that this connection has prepared: a new connection prepares it again. */
function isOutdated({ code, routine }: pg.DatabaseError): boolean {
  return code === '0A000' && routine === 'RevalidateCachedQuery'
}

/** The server ends the session with this error, regardless of its code. */
function isFatal(error: unknown): boolean {
  return error instanceof pg.DatabaseError && /^(FATAL|PANIC)$/.test(error.severity ?? '')
}

/** The server has turned read-only, or does not answer: then the other connections lead nowhere either. */
function concernsAll(cause: unknown): boolean {
  const { code, message } = cause as { code?: string; message: string }
  return code === '25006' || message === 'Query read timeout'
}

async function refuseReadOnly(client: pg.ClientBase, acts: boolean): Promise<void> {
  if (await prepareTransaction(client, acts, () => isReadOnly(client)))
    throw new Error('the server takes no writes')
}

/** As a standby is, and a primary that was made so. */
export async function isReadOnly(client: pg.ClientBase): Promise<boolean> {
  const { rows } = await client.query<{ transaction_read_only: string }>('SHOW transaction_read_only')
  return rows[0]!.transaction_read_only === 'on'
}

function isDiskFull(error: unknown): boolean {
  return (error as { code?: string } | undefined)?.code === '53100'
}

// A statement or a lock that took too long, no memory, a disk that fails: nothing is wrong with the
// statement, and the same one may succeed later. 57014: statement_timeout; 55P03: lock_timeout; 53: insufficient
// resources; 58030: input and output.
function isOverloaded(error: unknown): boolean {
  return /^(57014|55P03|53...|58030)$/.test((error as { code?: string }).code ?? '')
}
