// The table of contents: builds the objects of the chosen roles and starts their loops, in the order they need
// each other; stops them in the reverse order.
import type { FastifyInstance } from 'fastify'
import { createApp } from '../api/app.ts'
import type { Dashboard } from '../api/http/dashboard.ts'
import { type Config, isLoopback } from '../config/read.ts'
import { hashKey } from '../domain/access/api-key.ts'
import { codeMs, formatSecret, sessionBytes } from '../domain/access/session.ts'
import type { Role } from '../domain/role.ts'
import { uncertaintyMsMax } from '../domain/scheduling/partition-share.ts'
import { HttpClient } from '../lib/http/client.ts'
import { createTargetGuard } from '../lib/http/target-guard.ts'
import { UuidV7 } from '../lib/id.ts'
import { Loop, type LoopFailure } from '../lib/loop.ts'
import { OperatingError } from '../lib/operating-error.ts'
import { realRandom } from '../lib/random.ts'
import { retryUntilAvailable } from '../lib/retry-until-available.ts'
import { DatabaseClock } from '../lib/time/clock.ts'
import { withDeadline } from '../lib/time/deadline.ts'
import { realTimers } from '../lib/time/timers.ts'
import type { World } from '../ports/world.ts'
import { PostgresSecrets } from '../postgres/access/secrets.ts'
import { PostgresSessions } from '../postgres/access/sessions.ts'
import { clockSyncMs, startClock, syncClock } from '../postgres/connection/clock-sync.ts'
import { Database, type DatabaseAddress } from '../postgres/connection/database.ts'
import { DatabaseWakeup } from '../postgres/connection/wakeup.ts'
import { PostgresGraphRuns } from '../postgres/graphs/graph-runs.ts'
import { PostgresActivity } from '../postgres/history/activity.ts'
import { PostgresExecutions } from '../postgres/history/executions.ts'
import { PostgresFeed } from '../postgres/history/feed.ts'
import { PostgresHistoryProcesses } from '../postgres/history/history-processes.ts'
import { PostgresLogs } from '../postgres/history/logs.ts'
import { PostgresRollups } from '../postgres/history/rollups.ts'
import { PostgresSlotLedger } from '../postgres/history/slot-ledger.ts'
import { PostgresJobVersions } from '../postgres/jobs/job-versions.ts'
import { PostgresRequests, storesOn } from '../postgres/jobs/requests.ts'
import { PostgresAttempts } from '../postgres/queue/attempts.ts'
import { PostgresMaintenance } from '../postgres/queue/maintenance.ts'
import { PostgresQueue } from '../postgres/queue/queue.ts'
import { PostgresRoutes } from '../postgres/queue/routes.ts'
import { PostgresWorkers } from '../postgres/queue/workers.ts'
import { PostgresPartitions } from '../postgres/scheduling/partitions.ts'
import { PostgresPlannedJobs } from '../postgres/scheduling/planned-jobs.ts'
import { withoutDashboard } from '../process/dashboard-files.ts'
import { version } from '../process/version.ts'
import { emitSettled } from '../telemetry/emit-settled.ts'
import { loopFailed, workerReclaimed } from '../telemetry/events.ts'
import { ProcessReports } from '../telemetry/process-metrics.ts'
import { startHistory } from './history.ts'
import { createMetrics } from './metrics.ts'
import {
  leaseLoop,
  type RoleDeps,
  type RunningScheduler,
  type StartLoop,
  startScheduler,
} from './scheduler.ts'
import { type RunningWorker, startWorker, type WorkerAssignment } from './worker.ts'

export interface ServerOptions {
  config: Config
  roles: readonly Role[]
  address: DatabaseAddress
  /** What the api role needs besides. */
  api: {
    operatorKey: string
    /** Default: a page that says there is none. */
    dashboard?: Dashboard
    /** Of the further processes. Default: there are none. */
    reports?: ProcessReports
  }
  /** What the worker role runs. Default: HTTP. */
  createAssignment?: (deps: RoleDeps) => WorkerAssignment | Promise<WorkerAssignment>
  /** The worker had its time; what still runs is handed back next. */
  onDrained?: () => void
}

export interface RunningServer {
  /** Where the API answers; null without the api role. */
  url: string | null
  /** A code for the link that logs an operator in once; null without the api role. */
  makeCode(): Promise<string | null>
  /** Share of its worker that is in use; null without the worker role. */
  utilization(): number | null
  /** A worker is known to be dead: what it held runs elsewhere now, and not when its lease has run out. */
  reclaim(workerId: string): Promise<void>
  /** No new work; gives what runs this long, by default the drain time; then everything is closed. */
  stop(drainMs?: number): Promise<void>
}

/** After the listening connection broke. */
const listenAgainMs = 1_000
/** A beat that takes longer has missed its purpose. */
const leaseStatementMs = 2_000
/** Live views have connections of their own, and give up early: they must hold up nothing. */
const eventsOptions = { name: 'events', connectionsMax: 2, statementMs: 2_000 }
/** Saying good-bye to a database that is away must not hold up the stop. */
const shutdownMsMax = 500

export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const { config, roles, address } = options
  await using resources = new AsyncDisposableStack()
  const clock = new DatabaseClock()
  const world: World = {
    clock,
    timers: realTimers,
    random: realRandom,
    ids: new UuidV7(() => clock.databaseNow(), realRandom),
    http: resources.use(
      new HttpClient(realTimers, () => clock.monotonicMs(), {
        guard: createTargetGuard(config.privateTargets),
      }),
    ),
  }
  const connectionsMax = config.databaseConnections
  const database = resources.use(new Database(world, { name: 'main', address, connectionsMax }))
  // Renewal has a connection of its own: a pool that is all in use must not cost a lease.
  const leaseOptions = { name: 'lease', address, connectionsMax: 1, statementMs: leaseStatementMs }
  const leaseDatabase = resources.use(new Database(world, leaseOptions))
  await retryUntilAvailable(world, () => startClock(leaseDatabase, clock))

  const workers = new PostgresWorkers(database)
  const wakeup = resources.use(
    new DatabaseWakeup({ timers: world.timers, database, address }, world.ids.next()),
  )
  const startLoop: StartLoop = (name, idleMs, step, options) => {
    const onFailure = (failure: LoopFailure) => loopFailed.emit(failure)
    return resources.use(new Loop(world, { ...options, name, idleMs, step, onFailure }))
  }
  // Beside the leases: who waits for a connection of the pool would not know the time meanwhile.
  startLoop('sync clock', clockSyncMs, () => syncClock(leaseDatabase, clock), leaseLoop)
  startLoop('listen for wake-ups', listenAgainMs, (signal) => wakeup.listen(signal))

  let url: string | null = null
  const publicUrl = () => config.publicUrl ?? (isLoopback(config.host) ? (url ?? ownUrlOf(config)) : null)
  let stopping = false
  const isStopping = () => stopping
  let scheduler: RunningScheduler | null = null
  const isBackpressured = () => scheduler?.isBackpressured() ?? false
  const roleDeps: RoleDeps = {
    ...{ config, world, database, leaseDatabase, wakeup, startLoop, publicUrl, isStopping, isBackpressured },
  }
  let worker: RunningWorker | null = null
  if (roles.includes('worker')) {
    resources.defer(() => withinShutdown(world, worker?.release() ?? Promise.resolve()))
    worker = await startWorker(roleDeps, await options.createAssignment?.(roleDeps))
  }
  const directDispatch = worker?.directDispatch ?? null
  const utilization = () => worker?.utilization() ?? null
  const leavePartitions = () => scheduler?.leave() ?? Promise.resolve()
  if (roles.includes('scheduler')) {
    resources.defer(() => withinShutdown(world, leavePartitions()))
    scheduler = await startScheduler(roleDeps, directDispatch)
  }
  if (roles.includes('history') || roles.includes('scheduler')) {
    const ports = {
      rollups: new PostgresRollups(database),
      logs: new PostgresLogs(database),
      historyProcesses: new PostgresHistoryProcesses(database),
    }
    const options = { hasRole: roles.includes('history') }
    const history = startHistory({ ids: world.ids, ...ports, startLoop }, options)
    resources.defer(() => withinShutdown(world, history.leave()))
  }

  let drainedByMs = 0
  if (roles.includes('api')) {
    const { reports = new ProcessReports() } = options.api
    const metrics = resources.use(createMetrics({ clock, database, utilization, reports }))
    const app = await createApp({
      ...world,
      ...storesOn(database),
      executions: new PostgresExecutions(database),
      slotLedger: new PostgresSlotLedger(database),
      rollups: new PostgresRollups(database),
      historyProcesses: new PostgresHistoryProcesses(database),
      jobVersions: new PostgresJobVersions(database),
      activity: new PostgresActivity(database),
      plannedJobs: new PostgresPlannedJobs(database),
      requests: new PostgresRequests(database, directDispatch),
      partitions: new PostgresPartitions(database),
      queue: new PostgresQueue(database),
      attempts: new PostgresAttempts(database),
      logs: new PostgresLogs(database),
      routes: new PostgresRoutes(database),
      secrets: new PostgresSecrets(database),
      sessions: new PostgresSessions(database),
      events: openEvents(resources.use(new Database(world, { ...eventsOptions, address }))),
      leases: workers,
      workers,
      wakeup,
      operatorKey: options.api.operatorKey,
      publicUrl: config.publicUrl,
      dashboard: options.api.dashboard ?? withoutDashboard('it was not asked for.'),
      isStopping,
      health: {
        version,
        roles,
        checkReady: () => checkReady(world, { database, clock, roles, isStopping }),
        metrics: { contentType: metrics.contentType, read: () => metrics.read() },
      },
    })
    resources.defer(() => closeApp(world, app, Math.max(0, drainedByMs - clock.monotonicMs())))
    url = await listen(app, config)
  }

  const started = resources.move()
  return {
    url,
    utilization,
    async makeCode() {
      if (url === null) return null
      const code = formatSecret(world.random.bytes(sessionBytes))
      const keyHash = hashKey(options.api.operatorKey)
      await new PostgresSessions(database).addCode({ hash: hashKey(code), keyHash, forMs: codeMs })
      return code
    },
    async reclaim(workerId) {
      const maintenance = new PostgresMaintenance(database)
      const beat = (await maintenance.watch()).find((one) => one.workerId === workerId)
      const settled = beat === undefined ? 'alive' : await maintenance.reclaim(beat)
      if (settled === 'alive') return
      emitSettled(settled)
      workerReclaimed.emit({ workerId, silentMs: 0 })
      wakeup.send('queue')
      wakeup.send('waiting')
    },
    async stop(drainMs = config.drainMs) {
      if (stopping) return
      stopping = true
      drainedByMs = clock.monotonicMs() + drainMs
      // Others fire from now on what we held, however long our worker takes.
      const left = withinShutdown(world, leavePartitions())
      await worker?.drain(drainMs).catch(() => {})
      options.onDrained?.()
      await left
      // Steps and connections end within moments, unless the database hangs; then we go without them.
      const leftMs = Math.max(0, drainedByMs - clock.monotonicMs())
      await withDeadline(world.timers, leftMs + 2 * shutdownMsMax, started.disposeAsync())
    },
  }
}

function openEvents(database: Database) {
  return {
    feed: new PostgresFeed(database),
    executions: new PostgresExecutions(database),
    graphRuns: new PostgresGraphRuns(database),
    logs: new PostgresLogs(database),
  }
}

/** Where the first process listens, as another one knows it. */
function ownUrlOf({ roles, host, port }: Config): string | null {
  if (!roles.includes('api') || port === 0) return null
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`
}

async function listen(app: FastifyInstance, { host, port }: Config): Promise<string> {
  try {
    return await app.listen({ host, port })
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    if (code === 'EADDRINUSE') {
      const other = port === 65_535 ? 7420 : port + 1
      throw new OperatingError(
        `Port ${port} on ${host} is in use by another program. Choose another one: CARILLON_PORT=${other} npm start`,
        { cause },
      )
    }
    if (code === 'EACCES') {
      throw new OperatingError(
        `Port ${port} needs privileges we do not have. Set CARILLON_PORT above 1023.`,
        { cause },
      )
    }
    if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND' || code === 'EAI_AGAIN') {
      throw new OperatingError(`CARILLON_HOST: ${host} is not an address of this machine.`, { cause })
    }
    throw cause
  }
}

// A client that never finishes its request must not hold up the stop.
async function closeApp(world: World, app: FastifyInstance, drainMs: number): Promise<void> {
  const closed = app.close()
  if ((await withDeadline(world.timers, drainMs, closed)) === 'late') app.server.closeAllConnections()
  await closed
}

const readyMsMax = 2_000

interface ReadyDeps {
  database: Database
  clock: DatabaseClock
  roles: readonly Role[]
  isStopping: () => boolean
}

async function checkReady(world: World, deps: ReadyDeps): Promise<Record<string, string>> {
  const { database, clock, roles, isStopping } = deps
  if (isStopping()) return { server: 'stopping' }
  const answered = syncClock(database, clock).then(
    () => 'ok',
    (error: Error) => error.message,
  )
  const state = await withDeadline(world.timers, readyMsMax, answered)
  const checks = { database: state === 'late' ? `no answer within ${readyMsMax} ms` : state }
  if (!roles.includes('scheduler')) return checks
  const uncertaintyMs = clock.uncertaintyMs()
  const isKnown = uncertaintyMs <= uncertaintyMsMax
  return { ...checks, clock: isKnown ? 'ok' : `may be off by ${describeMs(uncertaintyMs)}` }
}

function describeMs(ms: number): string {
  return Number.isFinite(ms) ? `${Math.ceil(ms)} ms` : 'any time: not measured of late'
}

async function withinShutdown(world: World, goodbye: Promise<unknown>): Promise<void> {
  await withDeadline(
    world.timers,
    shutdownMsMax,
    goodbye.catch(() => {}),
  )
}
