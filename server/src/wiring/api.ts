// The api role: the HTTP server on its dependencies.
import type { TenantCensus } from '../api/access/tenant-census.ts'
import { type AppDeps, createApp } from '../api/app.ts'
import type { Dashboard } from '../api/http/dashboard.ts'
import { RequestShares } from '../api/http/request-shares.ts'
import { withDirectDispatch } from '../api/jobs/trigger-now.ts'
import type { Config } from '../config/read.ts'
import type { Role } from '../domain/role.ts'
import type { RowSecurityOff } from '../domain/tenants/row-security.ts'
import type { LeavePlace } from '../domain/tenants/tenant-turns.ts'
import { retryUntilAvailable } from '../lib/retry-until-available.ts'
import { withDeadline } from '../lib/time/deadline.ts'
import type { EventPorts, StorePorts } from '../ports/store.ts'
import type { Wakeup, WakeupSource } from '../ports/wakeup.ts'
import type { World } from '../ports/world.ts'
import { withoutDashboard } from '../process/dashboard-files.ts'
import { version } from '../process/version.ts'
import { ProcessReports } from '../telemetry/process-metrics.ts'
import { connectionNeedsOf, connectionsWanted } from './connections.ts'
import { closeApp, hostsOf, listen } from './listen.ts'
import type { StartLoop } from './loops.ts'
import { createMetrics } from './metrics.ts'
import { withReads } from './reads.ts'
import { checkReady } from './ready.ts'
import type { RunningRoles } from './roles.ts'

export interface ApiOptions {
  operatorKey: string
  /** See AppDeps. Default: none. */
  provableKey?: string | null
  /** Default: a page that says there is none. */
  dashboard?: Dashboard
  /** Metrics of the other processes of this server. Default: there are none. */
  reports?: ProcessReports
}

export interface ApiDeps {
  config: Config
  roles: readonly Role[]
  world: World
  store: StorePorts
  /** On a pool of its own, for lists, searches and history. */
  readStore: StorePorts
  /** Waits for the right to use a connection of that pool. */
  takeTurnToRead: () => Promise<LeavePlace>
  /** On a pool of its own: a slow view must hold up nothing else. */
  eventStore: EventPorts
  census: TenantCensus
  /** Null: row-level security holds for its reads. */
  rowSecurityOff: RowSecurityOff | null
  wakeup: Wakeup & WakeupSource
  startLoop: StartLoop
  running: Pick<RunningRoles, 'directDispatch' | 'utilization' | 'isStopping' | 'check'>
  checkTarget: AppDeps['checkTarget']
  /** Rejects when the database does not answer. */
  askDatabase: () => Promise<unknown>
  /** How long requests that are under way may take when it closes. */
  closeMs: () => number
  resources: AsyncDisposableStack
}

/** Returns the URL at which the API answers. */
export async function startApi(deps: ApiDeps, options: ApiOptions): Promise<string> {
  const { config, roles, world, store, readStore, eventStore, census, wakeup, running, resources } = deps
  const { directDispatch, utilization, isStopping } = running
  const { reports = new ProcessReports() } = options
  const metrics = resources.use(createMetrics({ clock: world.clock, roles, store, utilization, reports }))
  const requestShares = await startSharing(deps)
  const app = await createApp({
    ...world,
    ...withReads(store, readStore, deps.takeTurnToRead),
    requests: withDirectDispatch(store.requests, directDispatch),
    events: eventStore,
    census,
    requestShares,
    rowSecurityOff: deps.rowSecurityOff,
    wakeup,
    operatorKey: options.operatorKey,
    provableKey: options.provableKey ?? null,
    isEchoOpen: config.isEchoOpen,
    connectionsWanted: connectionsWanted(connectionNeedsOf(config)),
    publicUrl: config.publicUrl,
    hosts: hostsOf(config),
    trustedProxies: config.trustedProxies,
    dashboard: options.dashboard ?? withoutDashboard('it was not asked for.'),
    checkTarget: deps.checkTarget,
    isStopping,
    runsArtifacts: config.artifacts && roles.includes('worker'),
    health: {
      version,
      roles,
      checkReady: () => checkReady(deps),
      metrics: { contentType: metrics.contentType, read: () => metrics.read() },
      metricsToken: config.metricsToken,
    },
  })
  resources.defer(() => closeApp(world.timers, app, deps.closeMs()))
  return listen(app, config)
}

/** Time to say that this process ends: an unreachable database must not hold it up. */
const leaveMsMax = 500

/** Before the first request the processes that are up are known: each has an even part of a limit at first. */
async function startSharing({ world, store, census, startLoop, resources }: ApiDeps): Promise<RequestShares> {
  const { apiProcesses } = store
  const isShared = () => census.isShared()
  const shares = new RequestShares({ ...world, apiProcesses, processId: world.ids.next(), isShared })
  await census.count()
  await retryUntilAvailable(world, () => shares.report())
  resources.defer(() =>
    withDeadline(
      world.timers,
      leaveMsMax,
      shares.leave().catch(() => {}),
    ).then(() => {}),
  )
  const loop = startLoop('share request limits', () => shares.report())
  shares.onUrgent(() => loop.wake())
  return shares
}
