// Statements of a transaction. The first brings BEGIN along, the last may bring COMMIT, instead of a round trip for
// each. Between two Syncs PostgreSQL carries out messages in order and leaves out all that follow a failed one: nothing
// is done outside of the transaction, and a failure is not committed. Whole groups may follow each other unanswered: a
// trigger is one round trip instead of four.
import pg from 'pg'

export interface TransactionBounds {
  /** The transaction begins with it. */
  begins: boolean
  /** It is the last one, and is committed with it. */
  ends: boolean
  /** Statements sent before it and not answered yet: their time does not count as its own. */
  behind: number
  /** The tenant that a transaction which begins acts for; empty: none. Absent: row-level security does not concern it. */
  tenant?: string
}

/** As prepared on each connection, so that a query has one statement to parse, its own. */
const bounds = {
  begin: { name: 'begin', text: 'BEGIN' },
  // Until the end of the transaction: the connection carries nothing of it to its next user.
  actFor: { name: 'act_for', text: "SELECT set_config('carillon.tenant', $1, true)" },
  commit: { name: 'commit', text: 'COMMIT' },
}

/** Before the first query with bounds; does `work` between the two. `acts`: transactions will name a tenant. */
export async function prepareTransaction<T>(
  client: pg.ClientBase,
  acts: boolean,
  work: () => Promise<T>,
): Promise<T> {
  await client.query(bounds.begin)
  if (acts) await client.query({ ...bounds.actFor, values: [''] })
  const result = await work()
  await client.query(bounds.commit)
  return result
}

export function queryInTransaction<R extends pg.QueryResultRow>(
  client: pg.ClientBase,
  config: pg.QueryConfig,
  given: TransactionBounds,
): Promise<pg.QueryResult<R>> {
  const { connectionParameters } = client as unknown as { connectionParameters: { query_timeout?: number } }
  const timeoutMs = (connectionParameters.query_timeout ?? 0) * (1 + given.behind)
  return new Promise((resolve, reject) => {
    const callback: Callback<R> = (error, result) => (error ? reject(error) : resolve(result!))
    client.query(new PipelinedQuery({ ...config, callback }, given, timeoutMs))
  })
}

type Callback<R extends pg.QueryResultRow> = (error: Error | null, result?: pg.QueryResult<R>) => void

/** Members that the driver has and its types leave out. */
interface Wire {
  bind(config: { statement: string; values: readonly string[] }): void
  execute(config: object): void
  sync(): void
}
interface DriverQuery {
  prepare(connection: Wire): void
  handleDataRow(message: object): void
  handleCommandComplete(message: object, connection: Wire): void
  _getRows(connection: Wire, rows: number | undefined): void
}
const DriverQuery = pg.Query as unknown as new (config: object) => DriverQuery & pg.Submittable

class PipelinedQuery extends DriverQuery {
  /** The driver's name for it. */
  readonly query_timeout: number
  readonly #bounds: TransactionBounds
  /** Commands that have ended: BEGIN, the setting of the tenant, its own, COMMIT. */
  #ended = 0
  /** Commands in front of its own. */
  readonly #before: number

  constructor(config: object, given: TransactionBounds, timeoutMs: number) {
    super(config)
    this.#bounds = given
    this.#before = given.begins ? (given.tenant === undefined ? 1 : 2) : 0
    this.query_timeout = timeoutMs
  }

  override prepare(connection: Wire): void {
    const { begins, tenant } = this.#bounds
    if (begins) run(connection, bounds.begin.name)
    if (begins && tenant !== undefined) run(connection, bounds.actFor.name, [tenant])
    super.prepare(connection)
  }

  override _getRows(connection: Wire, rows: number | undefined): void {
    if (!this.#bounds.ends) super._getRows(connection, rows)
    else {
      connection.execute({})
      run(connection, bounds.commit.name)
      connection.sync()
    }
  }

  override handleDataRow(message: object): void {
    // The setting of the tenant answers with a row of its own.
    if (this.#ended === this.#before) super.handleDataRow(message)
  }

  override handleCommandComplete(message: object, connection: Wire): void {
    // The result is that of its own command.
    if (this.#ended++ === this.#before) super.handleCommandComplete(message, connection)
  }
}

function run(connection: Wire, statement: string, values: readonly string[] = []): void {
  connection.bind({ statement, values })
  connection.execute({})
}
