// Entry of a server process beside the first one: every role but `api`, on the database the first one prepared.
import { join } from 'node:path'
import { furtherRoles, readConfig } from './config/read.ts'
import { sayError } from './console.ts'
import { embeddedDatabase } from './engines/embedded/hold-postgres.ts'
import { reachSocketDir } from './engines/embedded/postmaster.ts'
import { startLog } from './telemetry/log.ts'
import { startServer } from './wire.ts'

const config = readConfig()
startLog({
  level: config.logLevel,
  plain: process.stderr.isTTY === true,
  write: (line) => void process.stderr.write(line),
})
const address =
  config.databaseUrl === null
    ? { socketDir: await reachSocketDir(join(config.dataDir, 'pg')), database: embeddedDatabase }
    : { url: config.databaseUrl }
const api = { operatorKey: '', homePage: '' }

// The terminal's signals reach the first process too, which asks us to stop in its own time.
process.on('SIGINT', () => {})
process.on('SIGHUP', () => {})
const stopped = new Promise<void>((resolve) => {
  process.once('SIGTERM', () => resolve())
  process.once('disconnect', () => resolve())
})
try {
  const server = await startServer({ config, roles: furtherRoles(config), address, api })
  await stopped
  await server.stop()
  process.exit(0)
} catch (error) {
  // The first process starts us again.
  sayError(`a further server process could not start: ${(error as Error).message}`)
  process.exit(1)
}
