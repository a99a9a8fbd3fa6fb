// Stores on a database that carries everything out and is never heard of again: each write ends as if the connection had
// broken between COMMIT and its answer. Remembers which statements were committed so.
import type { TestContext } from 'node:test'
import { realRandom } from '../../src/lib/random.ts'
import type { Sql } from '../../src/lib/sql.ts'
import { realTimers } from '../../src/lib/time/timers.ts'
import { Unavailable } from '../../src/lib/unavailable.ts'
import { Database, type Queries, type Rows } from '../../src/postgres/connection/database.ts'
import { StoredGraphRuns } from '../../src/postgres/graphs/graph-runs.ts'
import { StoredRunSteps } from '../../src/postgres/graphs/run-steps.ts'
import { StoredLogs } from '../../src/postgres/history/logs.ts'
import { StoredOperations } from '../../src/postgres/jobs/operations.ts'
import { StoredRequests, storesOn } from '../../src/postgres/jobs/requests.ts'
import { StoredAttempts } from '../../src/postgres/queue/attempts.ts'
import { StoredUpkeep } from '../../src/postgres/queue/maintenance.ts'
import { StoredQueue } from '../../src/postgres/queue/queue.ts'
import { StoredWorkers } from '../../src/postgres/queue/workers.ts'
import { StoredPartitions } from '../../src/postgres/scheduling/partitions.ts'
import { StoredSlots } from '../../src/postgres/scheduling/slots.ts'
import { cleanUp } from '../cleanup.ts'
import type { TestAddress } from '../database.ts'

export type Unheard = ReturnType<typeof openUnheard>

/** `names`: gets those of the statements that were committed. */
export function openUnheard(t: TestContext, address: TestAddress, names: Set<string>) {
  const deps = { timers: realTimers, random: realRandom }
  const database = new UnheardDatabase(names, deps, { name: 'unheard', address, connectionsMax: 4 })
  cleanUp(t, () => database[Symbol.asyncDispose]())
  return {
    ...storesOn(database),
    operations: new StoredOperations(database),
    slots: new StoredSlots(database),
    queue: new StoredQueue(database),
    attempts: new StoredAttempts(database),
    logs: new StoredLogs(database),
    upkeep: new StoredUpkeep(database),
    leases: new StoredWorkers(database),
    partitions: new StoredPartitions(database),
    requests: new StoredRequests(database),
    graphRuns: new StoredGraphRuns(database),
    runSteps: new StoredRunSteps(database),
  }
}

const writes = /\b(insert into|delete from|update (?!of\b|skip\b))/i

export function isWrite({ text }: Sql): boolean {
  return writes.test(text.replaceAll(/FOR (NO KEY )?UPDATE/g, ''))
}

/** What reads is answered: only writes leave somebody who does not know. */
class UnheardDatabase extends Database {
  readonly #names: Set<string>

  constructor(names: Set<string>, ...rest: ConstructorParameters<typeof Database>) {
    super(...rest)
    this.#names = names
  }

  override async query<R extends object>(statement: Sql, values: readonly unknown[]): Promise<Rows<R>> {
    const rows = await super.query<R>(statement, values)
    if (!isWrite(statement)) return rows
    this.#names.add(statement.name)
    throw new Unavailable('the database')
  }

  override async transaction<T>(work: (queries: Queries) => Promise<T>): Promise<T> {
    const written: string[] = []
    const result = await super.transaction((queries) =>
      work({
        query(statement, values) {
          if (isWrite(statement)) written.push(statement.name)
          return queries.query(statement, values)
        },
      }),
    )
    if (written.length === 0) return result
    for (const name of written) this.#names.add(name)
    throw new Unavailable('the database')
  }
}
