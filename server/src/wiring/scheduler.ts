// The scheduler role: its loops, and maintenance, which every scheduler runs.
import type { Config } from '../config/read.ts'
import { LaneChooser } from '../domain/queue/lane.ts'
import type { Loop, Step } from '../lib/loop.ts'
import { retryUntilAvailable } from '../lib/retry-until-available.ts'
import { createLeaseWatch, reclaimEveryMs, reclaimLost } from '../maintenance/reclaim-lost.ts'
import { lookForWaitingEveryMs, Releaser } from '../maintenance/release-waiting.ts'
import { lookForRunsEveryMs, RunStepper } from '../maintenance/step-runs.ts'
import { type AfterTimeOut, StoreUptime, timeOutEveryMs, timeOutOverdue } from '../maintenance/time-out.ts'
import { wakeEveryMs, wakeReady } from '../maintenance/wake-ready.ts'
import type { DirectDispatch } from '../ports/direct-dispatch.ts'
import type { World } from '../ports/world.ts'
import { keepPartitions } from '../postgres/connection/daily-partitions.ts'
import type { Database } from '../postgres/connection/database.ts'
import type { DatabaseWakeup } from '../postgres/connection/wakeup.ts'
import { PostgresRunSteps } from '../postgres/graphs/run-steps.ts'
import { PostgresMaintenance } from '../postgres/queue/maintenance.ts'
import { PostgresPartitions } from '../postgres/scheduling/partitions.ts'
import { PostgresSlots } from '../postgres/scheduling/slots.ts'
import { loadEveryMs, recoverOverdueEveryMs, takeChangesEveryMs } from '../scheduler/fill-window.ts'
import { fireEveryMs, firesAtOnce } from '../scheduler/fire-due.ts'
import { schedulerBeatMs, shareEveryMs } from '../scheduler/hold-partitions.ts'
import { Scheduler } from '../scheduler/scheduler.ts'
import { startBackgroundWork } from './maintenance.ts'

export interface RoleDeps {
  config: Config
  world: World
  database: Database
  /** For leases alone: a pool that is all in use must not cost one. */
  leaseDatabase: Database
  wakeup: DatabaseWakeup
  /** Where targets reach the API; null: not known. */
  publicUrl: () => string | null
  isStopping: () => boolean
  /** The scheduler of this process has more to fire than it can for a while. */
  isBackpressured: () => boolean
  startLoop: StartLoop
}

export type StartLoop = (name: string, idleMs: number, step: Step, options?: { failedMsMax: number }) => Loop

/** A lease must be renewed soon after the database is back, before anyone takes its holder for dead. */
export const leaseLoop = { failedMsMax: 1_000 }

const keepPartitionsEveryMs = 3_600_000

export interface RunningScheduler {
  /** Whether more is due than will be fired within moments. */
  isBackpressured(): boolean
  /** Gives the partitions back. */
  leave(): Promise<void>
}

/** `directDispatch`: the worker of this process; null: it has none. */
export async function startScheduler(
  deps: RoleDeps,
  directDispatch: DirectDispatch | null,
): Promise<RunningScheduler> {
  const { config, world, database, wakeup, startLoop } = deps
  const scheduler = new Scheduler(
    {
      ...world,
      slots: new PostgresSlots(database),
      directDispatch,
      partitions: new PostgresPartitions(database),
      lease: new PostgresPartitions(deps.leaseDatabase),
      onHeld: () => load.wake(),
      onPut: () => {
        for (const fire of fires) fire.wake()
      },
      onEnqueued(isShared) {
        wakeup.send('queue')
        if (isShared) wakeup.send('shared')
      },
      onOwed: () => wakeup.send('waiting'),
    },
    config,
  )
  const load = startLoop('load window', loadEveryMs, () => scheduler.load())
  const fires = Array.from({ length: firesAtOnce }, () =>
    startLoop('fire due slots', fireEveryMs, () => scheduler.fire()),
  )
  const changes = startLoop('take changes', takeChangesEveryMs, () => scheduler.takeChanges())
  startLoop('find overdue jobs', recoverOverdueEveryMs, () => scheduler.recoverOverdue())
  // Whoever sees us ready finds the partitions held.
  await retryUntilAvailable(world, () => scheduler.lease.beat())
  await retryUntilAvailable(world, () => scheduler.lease.share())
  startLoop('hold scheduler lease', schedulerBeatMs, () => scheduler.lease.beat(), leaseLoop)
  startLoop('share partitions', shareEveryMs, () => scheduler.lease.share())
  wakeup.on('changes', () => changes.wake())
  startMaintenance(deps)
  startBackgroundWork(deps)
  return { isBackpressured: () => scheduler.checkBackpressure(), leave: () => scheduler.lease.leave() }
}

function startMaintenance({ world, database, wakeup, startLoop, isStopping }: RoleDeps): void {
  const maintenance = new PostgresMaintenance(database)
  const onReady = () => wakeup.send('queue')
  const lanes = new LaneChooser()
  const watch = createLeaseWatch()
  startLoop('reclaim lost workers', reclaimEveryMs, async () => {
    // SDK workers may have nobody else to beat to: whoever goes on working decides who is dead.
    if (isStopping()) return 'idle'
    const reclaimed = await reclaimLost({ clock: world.clock, maintenance }, watch)
    if (reclaimed > 0) {
      onReady()
      // Some of what it held may have ended: lost too often, or cancelled.
      wakeup.send('waiting')
    }
    return 'idle'
  })
  const retries = startLoop('wake retries', wakeEveryMs, () => wakeReady({ ...world, maintenance, onReady }))
  wakeup.on('retries', () => retries.wake())
  const releaser = new Releaser({
    ...world,
    lanes,
    maintenance,
    onReady,
    onCancelled: () => wakeup.send('cancels'),
    onPlanned: () => wakeup.send('changes'),
  })
  const waiting = startLoop('release waiting', lookForWaitingEveryMs, async () => {
    const more = await releaser.step()
    // What it let go may be the root of a graph, and what it cancelled a run.
    if (more !== 'idle') runs.wake()
    return more
  })
  wakeup.on('waiting', () => waiting.wake())
  const stepper = new RunStepper({
    ...world,
    lanes,
    runSteps: new PostgresRunSteps(database),
    onReady,
    onWaiting: () => wakeup.send('waiting'),
    onCancelled: () => wakeup.send('cancels'),
    // A backfill goes on when a run of it has ended.
    onOver: () => wakeup.send('operations'),
  })
  const runs = startLoop('step graph runs', lookForRunsEveryMs, () => stepper.step())
  // Whatever may end what others wait for may also be the end of an execution of a run.
  wakeup.on('waiting', () => runs.wake())
  const onTimedOut = ({ retries: hasRetries, running }: AfterTimeOut) => {
    wakeup.send('waiting')
    if (hasRetries) wakeup.send('retries')
    if (running) wakeup.send('cancels')
  }
  const storeUptime = new StoreUptime()
  startLoop('time out overdue', timeOutEveryMs, () =>
    timeOutOverdue({ ...world, maintenance, onTimedOut }, storeUptime),
  )
  startLoop('keep partitions', keepPartitionsEveryMs, async () => {
    await keepPartitions(database, world.clock.databaseNow())
    return 'idle'
  })
}
