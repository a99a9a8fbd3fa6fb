// Entry of a server process beside the first one: every role but `api`, on the database the first one prepared.
import { join } from 'node:path'
import { furtherRoles, readConfig } from './config/read.ts'
import { embeddedDatabase } from './engines/embedded/embedded-postgres.ts'
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

process.on('SIGINT', () => {}) // Ctrl-C reaches the first process too, which asks us in its own time
const stopped = new Promise<void>((resolve) => {
  process.once('SIGTERM', () => resolve())
  process.once('disconnect', () => resolve())
})
const server = await startServer({ config, roles: furtherRoles(config), address, api })
await stopped
await server.stop()
process.exit(0)
