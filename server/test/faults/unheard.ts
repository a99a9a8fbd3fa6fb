// Stores on a database that carries everything out and is never heard of again: each write ends as if the connection had
// broken between COMMIT and its answer. Remembers which statements were committed so.
import type { TestContext } from 'node:test'
import { realRandom } from '../../src/lib/random.ts'
import type { Sql } from '../../src/lib/sql.ts'
import { realTimers } from '../../src/lib/time/timers.ts'
import { Unavailable } from '../../src/lib/unavailable.ts'
import type { StorePorts } from '../../src/ports/store.ts'
import { Database, type Queries, type Rows } from '../../src/postgres/connection/database.ts'
import { openPostgresStore } from '../../src/postgres/open-store.ts'
import { cleanUp } from '../cleanup.ts'
import type { TestAddress } from '../database.ts'

export type Unheard = StorePorts

/** `names`: receives the names of the committed statements. */
export function openUnheard(t: TestContext, address: TestAddress, names: Set<string>): StorePorts {
  const deps = { timers: realTimers, random: realRandom }
  const database = new UnheardDatabase(names, deps, { name: 'unheard', address, connectionsMax: 4 })
  cleanUp(t, () => database[Symbol.asyncDispose]())
  return openPostgresStore(database)
}

const writes = /\b(insert into|delete from|update (?!of\b|skip\b))/i

export function isWrite({ text }: Sql): boolean {
  return writes.test(text.replaceAll(/FOR (NO KEY )?UPDATE/g, ''))
}

/** Reads are answered: only a lost reply to a write leaves the caller uncertain. */
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
