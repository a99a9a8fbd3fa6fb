// A process without the api role answers probes on the port all the same: /livez, /readyz and /metrics.
import { createProbeApp } from '../api/probe-app.ts'
import type { Config } from '../config/read.ts'
import type { StorePorts } from '../ports/store.ts'
import type { World } from '../ports/world.ts'
import { version } from '../process/version.ts'
import { probesUnserved } from '../telemetry/events.ts'
import type { ProcessReports } from '../telemetry/process-metrics.ts'
import { closeApp, hostsOf, listen, PortTaken } from './listen.ts'
import { createMetrics } from './metrics.ts'
import { checkReady, type ReadyDeps } from './ready.ts'
import type { RunningRoles } from './roles.ts'

export interface ProbeDeps extends ReadyDeps {
  config: Pick<Config, 'host' | 'port' | 'isPortSet' | 'publicUrl' | 'metricsToken'>
  world: World
  store: StorePorts
  running: Pick<RunningRoles, 'isStopping' | 'check' | 'utilization'>
  /** How long requests that are under way may take when it closes. */
  closeMs: () => number
  resources: AsyncDisposableStack
}

/**
 * Returns the URL at which it answers; null: the default port belongs to another program, usually another server on this
 * machine, and the process goes on without. A port that was set is meant: if it is taken, the start fails.
 */
export async function startProbes(deps: ProbeDeps, reports: ProcessReports): Promise<string | null> {
  const { config, roles, world, store, running, resources } = deps
  const { utilization, isStopping } = running
  const metrics = resources.use(createMetrics({ clock: world.clock, roles, store, utilization, reports }))
  const app = createProbeApp({
    isStopping,
    hosts: hostsOf(config),
    health: {
      version,
      roles,
      checkReady: () => checkReady(deps),
      metrics: { contentType: metrics.contentType, read: () => metrics.read() },
      metricsToken: config.metricsToken,
    },
  })
  resources.defer(() => closeApp(world.timers, app, deps.closeMs()))
  try {
    return await listen(app, config)
  } catch (error) {
    if (config.isPortSet || !(error instanceof PortTaken)) throw error
    probesUnserved.emit({ host: config.host, port: config.port })
    return null
  }
}
