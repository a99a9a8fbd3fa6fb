// A process that locks the cursors of all jobs within a transaction and says so, then waits for a line before it goes
// on, so that a test can stop it midway. Prints how it ended.
import { once } from 'node:events'
import { realRandom } from '../../src/lib/random.ts'
import { sql } from '../../src/lib/sql.ts'
import { realTimers } from '../../src/lib/time/timers.ts'
import { Database } from '../../src/postgres/connection/database.ts'

const changeAll = sql('changeAll')`UPDATE cursors SET runs = 77`

const options = { name: 'paused', address: { url: process.argv[2]! }, connectionsMax: 1 }
await using database = new Database({ timers: realTimers, random: realRandom }, options)
try {
  await database.transaction(async ({ query }) => {
    await query(changeAll, [])
    console.log('locked')
    await once(process.stdin, 'data')
    await query(changeAll, [])
  })
  console.log('committed')
} catch (error) {
  console.log((error as Error).name)
}
process.exit()
