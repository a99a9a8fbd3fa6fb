// The api role: the HTTP server on its dependencies.
import { createApp } from '../api/app.ts'
import type { Dashboard } from '../api/http/dashboard.ts'
import { withDirectDispatch } from '../api/jobs/trigger-now.ts'
import type { Config } from '../config/read.ts'
import type { Role } from '../domain/role.ts'
import type { EventPorts, StorePorts } from '../ports/store.ts'
import type { Wakeup, WakeupSource } from '../ports/wakeup.ts'
import type { World } from '../ports/world.ts'
import { withoutDashboard } from '../process/dashboard-files.ts'
import { version } from '../process/version.ts'
import { ProcessReports } from '../telemetry/process-metrics.ts'
import { closeApp, hostsOf, listen } from './listen.ts'
import { createMetrics } from './metrics.ts'
import { checkReady } from './ready.ts'
import type { RunningRoles } from './roles.ts'

export interface ApiOptions {
  operatorKey: string
  /** Default: a page that says there is none. */
  dashboard?: Dashboard
  /** Metrics of the other processes of this server. Default: there are none. */
  reports?: ProcessReports
}

export interface ApiDeps {
  config: Pick<Config, 'host' | 'port' | 'publicUrl'>
  roles: readonly Role[]
  world: World
  store: StorePorts
  /** On a pool of its own: a slow view must hold up nothing else. */
  eventStore: EventPorts
  wakeup: Wakeup & WakeupSource
  running: Pick<RunningRoles, 'directDispatch' | 'utilization' | 'isStopping' | 'check'>
  /** Rejects when the database does not answer. */
  askDatabase: () => Promise<unknown>
  /** How long requests that are under way may take when it closes. */
  closeMs: () => number
  resources: AsyncDisposableStack
}

/** Returns the URL at which the API answers. */
export async function startApi(deps: ApiDeps, options: ApiOptions): Promise<string> {
  const { config, roles, world, store, eventStore, wakeup, running, resources } = deps
  const { directDispatch, utilization, isStopping } = running
  const { reports = new ProcessReports() } = options
  const metrics = resources.use(createMetrics({ clock: world.clock, roles, store, utilization, reports }))
  const app = await createApp({
    ...world,
    ...store,
    requests: withDirectDispatch(store.requests, directDispatch),
    events: eventStore,
    wakeup,
    operatorKey: options.operatorKey,
    publicUrl: config.publicUrl,
    hosts: hostsOf(config),
    dashboard: options.dashboard ?? withoutDashboard('it was not asked for.'),
    isStopping,
    health: {
      version,
      roles,
      checkReady: () => checkReady(deps),
      metrics: { contentType: metrics.contentType, read: () => metrics.read() },
    },
  })
  resources.defer(() => closeApp(world.timers, app, deps.closeMs()))
  return listen(app, config)
}
