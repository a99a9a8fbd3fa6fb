// The `carillon` command: picks the sub-command, prints help, sets the exit code.
import { parseArgs } from 'node:util'
import { version } from '@carillon/server/version.ts'
import { runStatus } from './status.ts'

const help = `carillon ${version}: a job scheduler that a team runs itself

Usage
  carillon start             start the server: API, scheduler, worker, and an embedded PostgreSQL
  carillon status            ask a running server how it is
  carillon next EXPR         when a schedule would run: cron, ISO 8601, or English in quotes
  carillon --help            this text
  carillon --version

Server settings are environment variables; docs/config.md has all of them:
  CARILLON_PORT              port of the API (7420)
  CARILLON_DATA              directory of the embedded PostgreSQL and the API key
  CARILLON_DATABASE_URL      an external PostgreSQL 15 to 18 instead

"carillon COMMAND --help" says more about a command.`

const startHelp = `carillon start: start the server and stay in the foreground

  --handlers FILE    run the jobs that this file exports (made by defineJob of @carillon/sdk)
                     in a process of their own, and put those with a schedule into the API

Settings are environment variables, all in docs/config.md.
Ctrl-C or SIGTERM stops everything, PostgreSQL included. Same as npm start.`

process.exitCode = await run(process.argv.slice(2))
// The channel to our launcher would keep the process alive.
if (process.connected) process.disconnect?.()

async function run([command, ...args]: string[]): Promise<number> {
  switch (command) {
    case 'start':
      return start(args)
    case 'status':
      return runStatus(args)
    case 'next':
      return next(args)
    case undefined:
    case 'help':
    case '-h':
    case '--help':
      return print(help)
    case '-v':
    case '--version':
      return print(version)
    default:
      return refuse(`there is no command ${JSON.stringify(command)}`)
  }
}

// Loaded only when needed: the server's code takes half a second that `--help` should not cost.
async function start(args: string[]): Promise<number> {
  let values: { handlers?: string; help?: boolean }
  try {
    values = parseArgs({ args, options: { handlers: { type: 'string' }, help: { type: 'boolean' } } }).values
  } catch (error) {
    return refuse(`start: ${(error as Error).message}`)
  }
  if (values.help) return print(startHelp)
  const { handlers } = values
  const { runServer } = await import('@carillon/server/main.ts')
  // Everything has stopped by now; a connection to a database that hangs must not keep us.
  process.exit(await runServer(handlers === undefined ? {} : { handlers }))
}

async function next(args: string[]): Promise<number> {
  const { runNext } = await import('./next.ts')
  return runNext(args, process)
}

function print(text: string): number {
  console.log(text)
  return 0
}

function refuse(reason: string): number {
  console.error(`carillon: ${reason}. Try carillon --help`)
  return 2
}
