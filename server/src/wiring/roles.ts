// Starts the worker, scheduler and history roles of one process in the order of their dependencies, and stops them in
// reverse. The server runs them on PostgreSQL, the simulator on the memory store.
import type { Config } from '../config/read.ts'
import type { Role } from '../domain/role.ts'
import { withDeadline } from '../lib/time/deadline.ts'
import type { DirectDispatch } from '../ports/direct-dispatch.ts'
import type { LeasePorts, StorePorts } from '../ports/store.ts'
import type { Wakeup } from '../ports/wakeup.ts'
import type { World } from '../ports/world.ts'
import { type RunningHistory, startHistory } from './history.ts'
import type { StartLoop } from './loops.ts'
import { startMaintenance } from './maintenance.ts'
import { type RunningScheduler, startScheduler } from './scheduler.ts'
import { type RunningWorker, startWorker, type WorkerAssignment } from './worker.ts'

export interface RoleDeps {
  config: Pick<Config, 'misfireAfterMs' | 'outageMs'>
  world: World
  store: StorePorts
  /** On a connection of its own: a pool that is all in use must not cost a lease. */
  leaseStore: LeasePorts
  wakeup: Wakeup
  startLoop: StartLoop
  /** The port on which this process listens; null: none, or not known yet. */
  port: number | null
  /** Where targets reach the API; null: not known. */
  publicUrl: () => string | null
  /** Everything to close at the end, last one first. */
  resources: AsyncDisposableStack
}

export interface RoleOptions {
  roles: readonly Role[]
  /** Default: HTTP calls. */
  createAssignment?: (deps: RoleDeps) => WorkerAssignment | Promise<WorkerAssignment>
}

export interface RunningRoles {
  isStopping(): boolean
  /** The state of each role by name: 'ok', or why not. */
  check(): Record<string, string>
  /** Share of the worker that is in use; null without the worker role. */
  utilization(): number | null
  /** Claims executions that are enqueued in this process; null: it makes no HTTP calls. */
  directDispatch: DirectDispatch | null
  /** No new work; running attempts get this long, then `close` must close everything. Says whether all had ended. */
  stop(drainMs: number, close: () => Promise<void>): Promise<'idle' | 'cut short'>
}

/** Time to give back a lease in a stop: an unreachable database must not hold it up. */
const shutdownMsMax = 500

export async function startRoles(deps: RoleDeps, options: RoleOptions): Promise<RunningRoles> {
  const { resources } = deps
  const { timers, clock } = deps.world
  let worker: RunningWorker | null = null
  let scheduler: RunningScheduler | null = null
  let history: RunningHistory | null = null
  let stopping = false
  const isStopping = () => stopping
  const goodbye = (said: Promise<unknown> = Promise.resolve()) =>
    withDeadline(
      timers,
      shutdownMsMax,
      said.catch(() => {}),
    ).then(() => {})
  if (options.roles.includes('worker')) {
    resources.defer(() => goodbye(worker?.release()))
    const isBackpressured = () => scheduler?.isBackpressured() ?? false
    worker = await startWorker({ ...deps, isBackpressured }, await options.createAssignment?.(deps))
  }
  const directDispatch = worker?.directDispatch ?? null
  if (options.roles.includes('scheduler')) {
    resources.defer(() => goodbye(scheduler?.leave()))
    scheduler = await startScheduler(deps, directDispatch)
    startMaintenance({ ...deps, isStopping })
  }
  if (options.roles.includes('history') || options.roles.includes('scheduler')) {
    const { world, store, startLoop } = deps
    const hasRole = options.roles.includes('history')
    history = startHistory({ ids: world.ids, ...store, startLoop }, { hasRole })
    resources.defer(() => goodbye(history?.leave()))
  }
  return {
    isStopping,
    directDispatch,
    utilization: () => worker?.utilization() ?? null,
    check: () => ({
      ...(scheduler && { partitions: scheduler.check() }),
      ...(worker && { worker: worker.check() }),
      ...(history && options.roles.includes('history') && { history: history.check() }),
    }),
    async stop(drainMs, close) {
      stopping = true
      const drainedByMs = clock.monotonicMs() + drainMs
      // Others fire the slots of our partitions from now on, however long our worker takes.
      const left = goodbye(scheduler?.leave())
      const drained = (await worker?.drain(drainMs).catch(() => 'cut short' as const)) ?? 'idle'
      await left
      // Steps and connections end within moments, unless the database hangs; then we go without them.
      const leftMs = Math.max(0, drainedByMs - clock.monotonicMs())
      await withDeadline(timers, leftMs + 2 * shutdownMsMax, close())
      return drained
    },
  }
}
