// The composition root: opens the pools of connections, builds the world, and starts the chosen roles on them in the
// order they need each other; stops them in the reverse order.
import { TenantCensus } from '../api/access/tenant-census.ts'
import { type Config, isLoopback } from '../config/read.ts'
import { hashKey } from '../domain/access/api-key.ts'
import { codeMs, formatSecret, sessionBytes } from '../domain/access/session.ts'
import { defaultTenantId } from '../domain/tenants/tenant.ts'
import { DiskFullWatch } from '../lib/disk-full-watch.ts'
import { NameResolver } from '../lib/dns/name-resolver.ts'
import { HttpClient } from '../lib/http/client.ts'
import { createTargetGuard } from '../lib/http/target-guard.ts'
import { UuidV7 } from '../lib/id.ts'
import { OpenFilesWatch, readOpenFilesMax } from '../lib/open-files.ts'
import { realRandom } from '../lib/random.ts'
import { retryUntilAvailable } from '../lib/retry-until-available.ts'
import { DatabaseClock } from '../lib/time/clock.ts'
import { realTimers } from '../lib/time/timers.ts'
import { DiskFull } from '../lib/unavailable.ts'
import type { StorePorts } from '../ports/store.ts'
import type { World } from '../ports/world.ts'
import { startClock, syncClock } from '../postgres/connection/clock-sync.ts'
import { Database, type DatabaseAddress } from '../postgres/connection/database.ts'
import { openReadPools } from '../postgres/connection/read-pools.ts'
import { DatabaseWakeup } from '../postgres/connection/wakeup.ts'
import { openPostgresStore } from '../postgres/open-store.ts'
import { emitSettled } from '../telemetry/emit-settled.ts'
import {
  connectionsFew,
  diskFull,
  filesExhausted,
  loopFailed,
  targetRefused,
  workerReclaimed,
} from '../telemetry/events.ts'
import { ProcessReports } from '../telemetry/process-metrics.ts'
import { type ApiOptions, startApi } from './api.ts'
import {
  connectionNeedsOf,
  connectionsWanted,
  eventConnections,
  leaseConnections,
  readConnections,
} from './connections.ts'
import { assignExecutors } from './executors.ts'
import { createLoopStarter } from './loops.ts'
import { startProbes } from './probes.ts'
import { turnsToRead } from './reads.ts'
import { type RoleOptions, startRoles } from './roles.ts'

export interface ServerOptions extends RoleOptions {
  config: Config
  address: DatabaseAddress
  /** Additional dependencies of the api role. */
  api: ApiOptions
  /** Whether this process answers probes if it has no API. Child processes do not: the first one answers for all. */
  answersProbes?: boolean
  /** Called when the drain time of the worker is over; executions that still run are handed back next. */
  onDrained?: () => void
}

export interface RunningServer {
  /** Where the API answers; null without the api role. */
  url: string | null
  /** Where probes are answered; null: at the URL of the API, or nowhere. */
  probesUrl: string | null
  /** A code for the link that logs an operator in once; null without the api role. */
  makeCode(): Promise<string | null>
  /** Share of its worker that is in use; null without the worker role. */
  utilization(): number | null
  /** Reclaims a worker that is known to be dead: its executions run elsewhere now, not after its lease has expired. */
  reclaim(workerId: string): Promise<void>
  /** Takes no new work; gives running executions this long, by default the drain time; then closes everything. */
  stop(drainMs?: number): Promise<void>
}

/** Statement timeout of the lease connection: a slower beat would come too late anyway. */
const leaseStatementMs = 2_000

/** Idle connections to targets: a share of the file descriptors of this process, and never more than so many. */
const idleConnectionsShare = 1 / 4
const idleConnectionsMax = 10_000

export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const { config, roles, address } = options
  await using resources = new AsyncDisposableStack()
  const clock = new DatabaseClock()
  const openFilesMax = readOpenFilesMax()
  const filesWatch = new OpenFilesWatch(
    () => clock.monotonicMs(),
    (code) => filesExhausted.emit({ code, openFilesMax }),
  )
  const names = resources.use(new NameResolver(realTimers, () => clock.monotonicMs()))
  let url: string | null = null
  const ownUrl = () => url ?? ownUrlOf(config)
  const guard = createTargetGuard({
    privateTargets: config.privateTargets,
    resolveName: (tenantId, name) => names.resolve(tenantId, name),
    ownTenantId: defaultTenantId,
    ownOrigin: ownUrl,
    onRefused: targetRefused.emit,
  })
  const world: World = {
    clock,
    timers: realTimers,
    random: realRandom,
    ids: new UuidV7(() => clock.databaseNow(), realRandom),
    http: resources.use(
      new HttpClient(realTimers, () => clock.monotonicMs(), {
        guard,
        idleConnectionsMax: Math.min(openFilesMax * idleConnectionsShare, idleConnectionsMax),
        onConnectionError: (error) => filesWatch.note(error),
      }),
    ),
  }
  const connectionsMax = config.databaseConnections
  const diskWatch = new DiskFullWatch(
    () => clock.monotonicMs(),
    () => diskFull.emit({}),
  )
  const onDiskFull = () => diskWatch.note()
  const database = resources.use(new Database(world, { name: 'main', address, connectionsMax, onDiskFull }))
  const leaseOptions = {
    name: 'lease',
    address,
    connectionsMax: leaseConnections,
    statementMs: leaseStatementMs,
    onDiskFull,
  }
  const leaseDatabase = resources.use(new Database(world, leaseOptions))
  await retryUntilAvailable(world, () => startClock(leaseDatabase, clock))

  const store = openPostgresStore(database)
  const wakeup = resources.use(
    new DatabaseWakeup({ timers: world.timers, database, address }, world.ids.next()),
  )
  const onFailure = loopFailed.emit
  const startLoop = createLoopStarter({ world, wakeup, resources, onFailure })
  // On the connection of the leases: while all of the pool is in use, the time must still be known.
  startLoop('sync clock', () => syncClock(leaseDatabase, clock))
  startLoop('listen for wake-ups', (signal) => wakeup.listen(signal))
  startLoop('probe open files', async () => {
    filesWatch.probe()
    return 'idle'
  })

  if (options.answersProbes) await warnOfFewConnections(store, config)

  const publicUrl = () => config.publicUrl ?? (isLoopback(config.host) ? ownUrl() : null)
  const leaseStore = openPostgresStore(leaseDatabase)
  const running = await startRoles(
    { config, world, store, leaseStore, wakeup, startLoop, port: portOf(options), publicUrl, resources },
    { createAssignment: (deps) => assignExecutors(config, deps, null), ...options },
  )
  let drainedByMs = 0
  let probesUrl: string | null = null
  const askDatabase = async () => {
    await syncClock(database, clock)
    if (diskWatch.isFull()) throw new DiskFull()
  }
  const closeMs = () => Math.max(0, drainedByMs - clock.monotonicMs())
  const deps = { config, roles, world, store, wakeup, running, askDatabase, closeMs, resources }
  if (roles.includes('api')) {
    const census = new TenantCensus({ clock, tenants: store.tenants })
    const takeTurn = turnsToRead(world, () => census.isShared())
    const connections = { readConnections, eventConnections, takeTurn }
    const { reads, events, rowSecurityOff } = await openReadPools({
      ...{ world, address, database, resources },
      ...connections,
    })
    const stores = { readStore: openPostgresStore(reads), eventStore: openPostgresStore(events) }
    const turns = { takeTurnToRead: takeTurn }
    const { checkTarget } = guard
    url = await startApi(
      { ...deps, ...stores, ...turns, census, rowSecurityOff, checkTarget, startLoop },
      options.api,
    )
  } else if (options.answersProbes) {
    probesUrl = await startProbes(deps, options.api.reports ?? new ProcessReports())
  }

  const started = resources.move()
  return {
    url,
    probesUrl,
    utilization: running.utilization,
    async makeCode() {
      if (url === null) return null
      const code = formatSecret(world.random.bytes(sessionBytes))
      const keyHash = hashKey(options.api.operatorKey)
      await store.sessions.addCode({ hash: hashKey(code), keyHash, forMs: codeMs })
      return code
    },
    async reclaim(workerId) {
      const { maintenance } = store
      const beat = (await maintenance.watch()).find(({ holderId }) => holderId === workerId)
      const settled = beat === undefined ? 'alive' : await maintenance.reclaim(beat)
      if (settled === 'alive') return
      emitSettled(settled)
      workerReclaimed.emit({ workerId, silentMs: 0 })
      wakeup.send('queue')
      wakeup.send('waiting')
    },
    async stop(drainMs = config.drainMs) {
      if (running.isStopping()) return
      drainedByMs = clock.monotonicMs() + drainMs
      await running.stop(drainMs, () => {
        options.onDrained?.()
        return started.disposeAsync()
      })
    },
  }
}

/** An embedded PostgreSQL has enough. A server that does not answer now is asked again by `carillon doctor`. */
async function warnOfFewConnections({ gauges }: Pick<StorePorts, 'gauges'>, config: Config): Promise<void> {
  const found = await gauges.connections().catch(() => null)
  const wanted = connectionsWanted(connectionNeedsOf(config))
  if (found !== null && found.most < wanted) connectionsFew.emit({ most: found.most, wanted })
}

/** Null: nothing listens, or it is not known before the worker registers, as with a port that the system is to choose. */
function portOf({ roles, config: { port, isPortSet }, answersProbes }: ServerOptions): number | null {
  const listens = roles.includes('api') || (answersProbes === true && isPortSet)
  return listens && port !== 0 ? port : null
}

/** Where the first process listens, as another one knows it. */
function ownUrlOf({ roles, host, port }: Config): string | null {
  if (!roles.includes('api') || port === 0) return null
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`
}
