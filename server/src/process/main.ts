// One server, from configuration to the last process gone: `npm start` and `carillon start` are this function.
import { access } from 'node:fs/promises'
import { resolve } from 'node:path'
import { loadOperatorKey } from '../config/operator-key.ts'
import { type Config, ConfigError, isLoopback, isRunByNpm, readConfig, runsCommands } from '../config/read.ts'
import type { DemoSize } from '../demo/copy-jobs.ts'
import { demoHandlers, openDemo } from '../demo/open-demo.ts'
import { EmbeddedPostgres } from '../embedded-postgres/embedded-postgres.ts'
import { embeddedDatabase } from '../embedded-postgres/hold-postgres.ts'
import { OperatingError, StopRequested } from '../lib/operating-error.ts'
import { realRandom } from '../lib/random.ts'
import { realTimers } from '../lib/time/timers.ts'
import type { DatabaseAddress } from '../postgres/connection/database.ts'
import { migrate, migrateWhenReachable } from '../postgres/connection/migrate.ts'
import { startLog } from '../telemetry/log.ts'
import { ProcessReports } from '../telemetry/process-metrics.ts'
import { connectionNeedsOf, connectionsNeeded } from '../wiring/connections.ts'
import { startServer } from '../wiring/server.ts'
import { prepareDashboard } from './build-dashboard.ts'
import { ChildProcesses } from './child-processes.ts'
import { chooseCommandsUser } from './commands-user.ts'
import {
  sayBuilding,
  sayDemo,
  sayError,
  sayPreparing,
  sayStarted,
  sayStopped,
  sayStopping,
  sayUnbuilt,
} from './console.ts'
import { StopSignal } from './stop-signal.ts'
import { version } from './version.ts'

const clock = { monotonicMs: () => performance.now() }
const deps = { clock, timers: realTimers }
/** The time left for PostgreSQL to stop after a full drain. */
const databaseStopMs = 800

export interface RunOptions {
  /** A file of handlers to run, in a process of their own. */
  handlers?: string
  /** Fills a world to look at; with a size, a larger one to measure. */
  demo?: { size: DemoSize | null }
}

/** Returns the exit code once everything has stopped. */
export async function runServer({ handlers, demo }: RunOptions = {}): Promise<number> {
  try {
    // Some builds of Node 26 come without it; schedules need it.
    if (typeof Temporal !== 'object')
      throw new OperatingError(`Node ${process.version} has no Temporal. Run npm ci.`)
    const config = readConfig()
    startLog({
      level: config.logLevel,
      plain: process.stderr.isTTY === true,
      write: (line) => void process.stderr.write(line),
    })
    const file = demo === undefined ? handlers : checkDemoOptions(config, handlers)
    await serve(config, file === undefined ? null : await checkHandlers(config, file), demo ?? null)
    return 0
  } catch (error) {
    if (error instanceof StopRequested) {
      sayStopped()
      return 0
    }
    const plain = error instanceof OperatingError || error instanceof ConfigError
    sayError(plain ? error.message : String((error as Error).stack ?? error))
    return 1
  }
}

async function serve(
  config: Config,
  handlersFile: string | null,
  demo: RunOptions['demo'] | null,
): Promise<void> {
  using stopSignal = new StopSignal(deps, {
    followParent: isRunByNpm(),
    // PostgreSQL's leash stops it when we are gone.
    onSecond: () => process.exit(130),
  })
  const stop = stopSignal.signal
  sayPreparing(config.dataDir)
  let stoppingSinceMs = clock.monotonicMs()
  await using resources = new AsyncDisposableStack()
  const leftMs = () => Math.max(0, config.drainMs - (clock.monotonicMs() - stoppingSinceMs)) + databaseStopMs

  // Beside the start of PostgreSQL, which waits for the disk.
  const ended = new AbortController()
  resources.defer(() => ended.abort())
  const dashboard = !config.roles.includes('api')
    ? null
    : prepareDashboard({
        signal: AbortSignal.any([stop, ended.signal]),
        onBuild: sayBuilding,
        onFailure: sayUnbuilt,
      })

  let embedded: EmbeddedPostgres | null = null
  if (config.databaseUrl === null) {
    embedded = await EmbeddedPostgres.open(
      { clock, timers: realTimers },
      {
        dataDir: config.dataDir,
        settings: { max_connections: String(connectionsNeeded(connectionNeedsOf(config))) },
        signal: stop,
      },
    )
    const opened = embedded
    resources.defer(() => opened.stop(leftMs()))
  }
  const address: DatabaseAddress =
    embedded === null
      ? { url: config.databaseUrl! }
      : { socketDir: embedded.socketDir, database: embeddedDatabase }
  const migrateDeps = { ...deps, signal: stop }
  if (embedded === null) await migrateWhenReachable(migrateDeps, address)
  else await migrate(migrateDeps, address)

  const world = demo ? await openDemo(address) : null
  if (world !== null) resources.use(world)

  const operatorKey = await loadOperatorKey(config, realRandom)
  const commands = runsCommands(config) ? await chooseCommandsUser(config) : null
  if (commands !== null && 'refusal' in commands) sayError(commands.refusal)
  const reports = new ProcessReports()
  const provableKey = operatorKey.file === null ? null : operatorKey.key
  const api = {
    operatorKey: operatorKey.key,
    provableKey,
    reports,
    ...(dashboard && { dashboard: await dashboard }),
  }
  const server = await startServer({ config, roles: config.roles, address, api, answersProbes: true })
  const children = new ChildProcesses(
    { ...deps, reports, reclaim: (workerId) => server.reclaim(workerId) },
    {
      processes: config.processes,
      commands,
      handlers:
        handlersFile === null ? null : { file: handlersFile, api: apiOf(server.url, operatorKey.key) },
    },
  )
  resources.defer(async () => {
    await Promise.all([server.stop(), children.stop(leftMs())])
  })
  if (server.url !== null) await embedded?.announce(server.url)
  await world?.fill({
    url: server.url!,
    operatorKey: operatorKey.key,
    shellCommands: config.shellCommands.map(({ path }) => path),
    size: demo?.size ?? null,
    say: sayDemo,
    signal: stop,
  })

  // Anybody may read the output of a server that is reachable from other machines.
  const isPrivate = isLoopback(config.host)
  sayStarted({
    version,
    url: server.url,
    probesUrl: server.probesUrl,
    code: isPrivate ? await server.makeCode() : null,
    roles: config.roles,
    processes: config.processes,
    operatorKey,
    isEchoOpen: config.isEchoOpen,
    showKey: isPrivate,
    database: embedded === null ? 'external PostgreSQL' : `embedded PostgreSQL ${embedded.version}`,
    dataDir: config.dataDir,
  })
  await untilStopped(stop, embedded)
  stoppingSinceMs = clock.monotonicMs()
  sayStopping()
  await resources.disposeAsync()
  sayStopped()
}

/** The handlers of the demo world. */
function checkDemoOptions({ roles, host }: Config, handlers: string | undefined): string {
  if (handlers !== undefined)
    throw new OperatingError('--demo has handlers of its own: leave out --handlers.')
  if (!roles.includes('api')) throw new OperatingError('--demo needs the api role in CARILLON_ROLES.')
  if (!isLoopback(host)) throw new OperatingError('--demo is for a server that only this machine can reach.')
  return demoHandlers
}

/** Checked once here: otherwise a process that cannot start would repeat the error again and again. */
async function checkHandlers({ roles }: Config, file: string): Promise<string> {
  const path = resolve(file)
  if (!roles.includes('worker'))
    throw new OperatingError('--handlers needs the worker role in CARILLON_ROLES.')
  await access(path).catch((cause) => {
    throw new OperatingError(`There is no file ${path} to take handlers from.`, { cause })
  })
  return path
}

function apiOf(url: string | null, key: string): { url: string; key: string } | null {
  return url === null ? null : { url, key }
}

/** Rejects when the embedded PostgreSQL is gone for good. */
async function untilStopped(stop: AbortSignal, embedded: EmbeddedPostgres | null): Promise<void> {
  const stopped = new Promise<void>((resolve) => {
    if (stop.aborted) resolve()
    stop.addEventListener('abort', () => resolve())
  })
  await (embedded === null ? stopped : Promise.race([stopped, embedded.failed]))
}
