// A process that opens the embedded PostgreSQL on the given directory and holds it until a test kills it. Prints
// `ready` or why not.
import { EmbeddedPostgres } from '../src/embedded-postgres/embedded-postgres.ts'
import { realTimers } from '../src/lib/time/timers.ts'

const deps = { clock: { monotonicMs: () => performance.now() }, timers: realTimers }
try {
  const embedded = await EmbeddedPostgres.open(deps, { dataDir: process.argv[2]! })
  await embedded.announce('http://127.0.0.1:7777')
  console.log('ready')
  setInterval(() => {}, 60_000)
} catch (error) {
  console.log((error as Error).message)
  process.exit(1)
}
