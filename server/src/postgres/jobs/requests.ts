// One request, one effect, on PostgreSQL: the effect and its answer are one transaction. A key takes an advisory lock
// for the length of that transaction: a second request with the key is refused at once and holds no connection waiting.
import { allOrFirstError } from '../../lib/all-or-first-error.ts'
import { GroupCommit } from '../../lib/group-commit.ts'
import { RestartTransaction } from '../../lib/unavailable.ts'
import type {
  Done,
  Once,
  Reply,
  Requests,
  RequestTerms,
  RunOutcome,
  WriteStores,
} from '../../ports/requests.ts'
import { PostgresApiKeys } from '../access/api-keys.ts'
import { PostgresTenantEnds } from '../access/tenant-ends.ts'
import { PostgresTenantRoom } from '../access/tenant-room.ts'
import { PostgresTenants } from '../access/tenants.ts'
import { PostgresTiers } from '../access/tiers.ts'
import { withToday } from '../connection/daily-partitions.ts'
import { type Database, type Queries, type Transactions, within } from '../connection/database.ts'
import { PostgresGraphRuns } from '../graphs/graph-runs.ts'
import { PostgresDeadLetters } from '../history/dead-letters.ts'
import { PostgresControl } from '../queue/control.ts'
import { PostgresWorkers } from '../queue/workers.ts'
import type { RowOf } from '../sql/item.ts'
import { PostgresArtifacts } from './artifacts.ts'
import { PostgresCalendars } from './calendars.ts'
import { jobKeyItem, keyItem, replyItem } from './items.ts'
import { PostgresJobs } from './jobs.ts'
import { PostgresOperations } from './operations.ts'
import * as statements from './requests.sql.ts'
import { lockJobs } from './triggers.sql.ts'

/** The stores of a transaction that is under way, or of the database. */
export function storesOn(database: Transactions): WriteStores {
  return {
    jobs: new PostgresJobs(database),
    control: new PostgresControl(database),
    deadLetters: new PostgresDeadLetters(database),
    operations: new PostgresOperations(database),
    tenants: new PostgresTenants(database),
    tenantEnds: new PostgresTenantEnds(database),
    tiers: new PostgresTiers(database),
    tenantRoom: new PostgresTenantRoom(database),
    apiKeys: new PostgresApiKeys(database),
    calendars: new PostgresCalendars(database),
    artifacts: new PostgresArtifacts(database),
    graphRuns: new PostgresGraphRuns(database),
    workers: new PostgresWorkers(database),
  }
}

/** Larger groups do not get faster, and their first request waits longer. */
const groupLimits = {
  itemsMax: 200,
  weigh: ({ executions }: KeyedRun) => executions,
  weightMax: 1_000,
  waitingMax: 10_000,
}

/** How often a transaction is begun at most, when other changes of the same jobs force it to restart. */
const beginningsMax = 3

export class PostgresRequests implements Requests {
  readonly #database: Database
  /** One of each for all requests: concurrent requests are committed together. */
  readonly #stores: WriteStores
  readonly #gathered: GroupCommit<KeyedRun, RunOutcome<unknown>>

  constructor(database: Database) {
    this.#database = database
    this.#stores = storesOn(database)
    this.#gathered = new GroupCommit((runs) => this.#runTogether(runs), groupLimits)
  }

  async run<T>(
    { once, dryRun, gather }: RequestTerms,
    work: (stores: WriteStores) => Promise<Done<T>>,
  ): Promise<RunOutcome<T>> {
    if (dryRun) return this.#runAndUndo(work)
    if (once === null) return { kind: 'done', value: (await work(this.#stores)).value }
    const run: KeyedRun = { once, work, jobId: gather?.jobId ?? null, executions: gather?.executions ?? 1 }
    const outcome =
      gather !== undefined ? await this.#gathered.add(run) : (await this.#runTogether([run]))[0]!
    return outcome as RunOutcome<T>
  }

  #runTogether(runs: readonly KeyedRun[]): Promise<RunOutcome<unknown>[]> {
    return beginAgain(() =>
      withToday(this.#database, () => this.#database.transaction((queries) => runKeyed(queries, runs))),
    )
  }

  async #runAndUndo<T>(work: (stores: WriteStores) => Promise<Done<T>>): Promise<RunOutcome<T>> {
    try {
      return await beginAgain(() =>
        withToday(this.#database, () =>
          this.#database.transaction(async (queries) => {
            throw new Undone((await work(storesOn(within(queries)))).value)
          }),
        ),
      )
    } catch (error) {
      if (error instanceof Undone) return { kind: 'done', value: error.value as T }
      throw error
    }
  }

  async prune(limit: number): Promise<number> {
    const { count } = await this.#database.query(statements.deleteOldKeys, [limit])
    return count
  }
}

async function beginAgain<T>(run: () => Promise<T>): Promise<T> {
  for (let left = beginningsMax - 1; ; left--) {
    try {
      return await run()
    } catch (error) {
      if (!(error instanceof RestartTransaction) || left === 0) throw error
    }
  }
}

interface KeyedRun {
  once: Once
  /** The job that it triggers; null: none. */
  jobId: string | null
  executions: number
  work: (stores: WriteStores) => Promise<Done<unknown>>
}

/** Thrown out of a dry run, so that it is rolled back. */
class Undone extends Error {
  readonly value: unknown

  constructor(value: unknown) {
    super('a dry run is undone')
    this.value = value
  }
}

type Known = Exclude<RunOutcome<never>, { kind: 'done' }>

// If any of several runs throws, the effects of all are undone; each is then run alone.
async function runKeyed(queries: Queries, runs: readonly KeyedRun[]): Promise<RunOutcome<unknown>[]> {
  const known = await claimKeys(queries, runs)
  // All at once and in the order of ids, before any of them works: each would lock its own when it comes to it, in any
  // order, and wait for another transaction that holds them the other way round.
  const jobs = runs.flatMap(({ once: { tenantId }, jobId }) => (jobId === null ? [] : [{ tenantId, jobId }]))
  if (jobs.length > 1) await queries.query(lockJobs, [jobKeyItem.encode(jobs)])
  const stores = storesOn(within(queries))
  const replies: RowOf<typeof replyItem>[] = []
  const outcomes = await allOrFirstError(
    runs.map(async ({ once, work }, n): Promise<RunOutcome<unknown>> => {
      const before = known.get(n)
      if (before !== undefined) return before
      const { value, reply } = await work(stores)
      if (reply !== null) replies.push(toItem(once, reply))
      return { kind: 'done', value }
    }),
  )
  if (replies.length > 0) await queries.query(statements.insertReplies, [replyItem.encode(replies)])
  return outcomes
}

/** The known state of the keys that are not free, by the number of the run. */
async function claimKeys(queries: Queries, runs: readonly KeyedRun[]): Promise<Map<number, Known>> {
  const known = new Map<number, Known>()
  const first = new Set<string>()
  const asked = runs.flatMap(({ once: { tenantId, key } }, n) => {
    // We hold the first run's lock ourselves, so a second run with the same key in this group would get it too.
    if (first.has(`${tenantId} ${key}`)) known.set(n, { kind: 'in_flight' })
    else first.add(`${tenantId} ${key}`)
    return known.has(n) ? [] : [{ number: n, tenantId, key }]
  })
  const { rows } = await queries.query<KeyRow>(statements.claimKeys, [keyItem.encode(asked)])
  for (const { number: n, busy, fresh, fingerprint, status, headers, body } of rows) {
    if (busy) known.set(n, { kind: 'in_flight' })
    else if (fingerprint === null || !fresh) continue
    else if (!fingerprint.equals(runs[n]!.once.fingerprint)) known.set(n, { kind: 'other_request' })
    else known.set(n, { kind: 'repeated', reply: { status: status!, headers: headers!, body: body! } })
  }
  return known
}

function toItem({ tenantId, key, fingerprint }: Once, reply: Reply): RowOf<typeof replyItem> {
  return { ...reply, tenantId, key, fingerprint: Buffer.from(fingerprint).toString('hex') }
}

interface KeyRow {
  number: number
  busy: boolean
  fresh: boolean | null
  fingerprint: Buffer | null
  status: number | null
  headers: Record<string, string> | null
  body: string | null
}
