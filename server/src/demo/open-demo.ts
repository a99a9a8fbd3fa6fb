// Opens the demo database with a connection of its own, because its writes take longer than a server allows a
// statement.
import { join } from 'node:path'
import { realRandom } from '../lib/random.ts'
import { epochMs } from '../lib/time/epoch.ts'
import { realTimers } from '../lib/time/timers.ts'
import { Database, type DatabaseAddress } from '../postgres/connection/database.ts'
import { readNow } from '../postgres/history/demo-history.ts'
import { checkDemo, type DemoOptions, fillDemo } from './fill-demo.ts'

export const demoHandlers = join(import.meta.dirname, 'handlers.ts')

const statementMs = 1_800_000

export interface OpenDemo extends AsyncDisposable {
  /** Says so when there is nothing to do. */
  fill(options: Omit<DemoOptions, 'database' | 'now'>): Promise<void>
}

/** Refuses a database that is neither empty nor a demo world. */
export async function openDemo(address: DatabaseAddress): Promise<OpenDemo> {
  const deps = { timers: realTimers, random: realRandom }
  const database = new Database(deps, { name: 'demo', address, connectionsMax: 1, statementMs })
  const state = await checkDemo(database).catch(async (error: unknown) => {
    await database[Symbol.asyncDispose]()
    throw error
  })
  return {
    async fill(options) {
      if (state === 'filled') options.say('Demo: the world is there already; nothing was added.')
      else await fillDemo({ ...options, database, now: epochMs(await readNow(database)) })
      await database[Symbol.asyncDispose]()
    },
    [Symbol.asyncDispose]: () => database[Symbol.asyncDispose](),
  }
}
