// The api role: the HTTP server, whether it is ready, and how it closes.
import type { FastifyInstance } from 'fastify'
import { createApp } from '../api/app.ts'
import type { Dashboard } from '../api/http/dashboard.ts'
import { withDirectDispatch } from '../api/jobs/trigger-now.ts'
import type { Config } from '../config/read.ts'
import type { Role } from '../domain/role.ts'
import { uncertaintyMsMax } from '../domain/scheduling/partition-share.ts'
import { OperatingError } from '../lib/operating-error.ts'
import { withDeadline } from '../lib/time/deadline.ts'
import type { EventPorts, StorePorts } from '../ports/store.ts'
import type { Wakeup, WakeupSource } from '../ports/wakeup.ts'
import type { World } from '../ports/world.ts'
import { withoutDashboard } from '../process/dashboard-files.ts'
import { version } from '../process/version.ts'
import { ProcessReports } from '../telemetry/process-metrics.ts'
import { createMetrics } from './metrics.ts'
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
  running: Pick<RunningRoles, 'directDispatch' | 'utilization' | 'isStopping'>
  /** Rejects when the database does not answer. */
  askDatabase: () => Promise<unknown>
  /** How long requests that are under way may take when it closes. */
  closeMs: () => number
  resources: AsyncDisposableStack
}

const readyMsMax = 2_000

/** Returns the URL at which the API answers. */
export async function startApi(deps: ApiDeps, options: ApiOptions): Promise<string> {
  const { config, roles, world, store, eventStore, wakeup, running, resources } = deps
  const { directDispatch, utilization, isStopping } = running
  const { reports = new ProcessReports() } = options
  const metrics = resources.use(createMetrics({ clock: world.clock, store, utilization, reports }))
  const app = await createApp({
    ...world,
    ...store,
    requests: withDirectDispatch(store.requests, directDispatch),
    events: eventStore,
    wakeup,
    operatorKey: options.operatorKey,
    publicUrl: config.publicUrl,
    dashboard: options.dashboard ?? withoutDashboard('it was not asked for.'),
    isStopping,
    health: {
      version,
      roles,
      checkReady: () => checkReady(deps),
      metrics: { contentType: metrics.contentType, read: () => metrics.read() },
    },
  })
  resources.defer(() => closeApp(world, app, deps.closeMs()))
  return listen(app, config)
}

async function listen(app: FastifyInstance, { host, port }: ApiDeps['config']): Promise<string> {
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

async function checkReady({ world, roles, running, askDatabase }: ApiDeps): Promise<Record<string, string>> {
  if (running.isStopping()) return { server: 'stopping' }
  const answered = askDatabase().then(
    () => 'ok',
    (error: Error) => error.message,
  )
  const state = await withDeadline(world.timers, readyMsMax, answered)
  const checks = { database: state === 'late' ? `no answer within ${readyMsMax} ms` : state }
  if (!roles.includes('scheduler')) return checks
  const uncertaintyMs = world.clock.uncertaintyMs()
  const isKnown = uncertaintyMs <= uncertaintyMsMax
  return { ...checks, clock: isKnown ? 'ok' : `may be off by ${describeMs(uncertaintyMs)}` }
}

function describeMs(ms: number): string {
  return Number.isFinite(ms) ? `${Math.ceil(ms)} ms` : 'an unknown amount: not measured recently'
}
