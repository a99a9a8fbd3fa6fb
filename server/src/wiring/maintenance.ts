// The maintenance loops. Every scheduler runs all of them; the first one to come does the work. Queue maintenance: lost
// workers, due retries, waiting executions, graph runs, deadlines. Background work: operations, redrives, pruning.
import { LaneChooser } from '../domain/queue/lane.ts'
import { WaitingEstimates } from '../domain/tenants/waiting-estimates.ts'
import { endTenants } from '../maintenance/end-tenants.ts'
import { HeldBackReleaser } from '../maintenance/let-held-go.ts'
import { ClockRuleMover } from '../maintenance/move-clock-rule.ts'
import { createLeaseWatch, reclaimLost } from '../maintenance/reclaim-lost.ts'
import { redriveDue } from '../maintenance/redrive-due.ts'
import { Releaser } from '../maintenance/release-waiting.ts'
import { resumePaused } from '../maintenance/resume-paused.ts'
import { runOperation } from '../maintenance/run-operations.ts'
import { RunStepper } from '../maintenance/step-runs.ts'
import { type AfterTimeOut, StoreUptime, timeOutOverdue } from '../maintenance/time-out.ts'
import { wakeReady } from '../maintenance/wake-ready.ts'
import type { RoleDeps } from './roles.ts'

export interface MaintenanceDeps extends Pick<RoleDeps, 'world' | 'store' | 'wakeup' | 'startLoop'> {
  isStopping: () => boolean
}

const prunedMax = 5_000
/** Pages of versions of a job; each is a transaction. */
const versionStepsMax = 50

export function startMaintenance(deps: MaintenanceDeps): void {
  startQueueMaintenance(deps)
  startBackgroundWork(deps)
}

function startQueueMaintenance({ world, store, wakeup, startLoop, isStopping }: MaintenanceDeps): void {
  const { maintenance, runSteps, executionBudgets } = store
  const onReady = () => wakeup.send('queue')
  const onCancelled = () => wakeup.send('cancels')
  const lanes = new LaneChooser()
  const watch = createLeaseWatch()
  startLoop('reclaim lost workers', async () => {
    // SDK workers may have sent their beats to this process alone: a process that stays up must decide which are dead.
    if (isStopping()) return 'idle'
    const { count, more } = await reclaimLost({ clock: world.clock, maintenance }, watch)
    if (count > 0) {
      onReady()
      // Some of its executions may have ended: lost too often, or cancelled.
      wakeup.send('waiting')
    }
    return more ? 'more' : 'idle'
  })
  startLoop('wake retries', () => wakeReady({ ...world, maintenance, onReady }))
  const onPlanned = () => wakeup.send('changes')
  const releaser = new Releaser({ ...world, lanes, maintenance, onReady, onCancelled, onPlanned })
  startLoop('release waiting', async () => {
    const more = await releaser.step()
    // A released execution may be the root of a graph, a cancelled one may end a run.
    if (more !== 'idle') runs.wake()
    return more
  })
  const onSkipped = () => wakeup.send('waiting')
  const heldBack = new HeldBackReleaser({ executionBudgets, onReady, onSkipped })
  startLoop('let held back go', () => heldBack.step())
  const stepper = new RunStepper({
    ...world,
    lanes,
    runSteps,
    onReady,
    onWaiting: () => wakeup.send('waiting'),
    onCancelled,
    // A backfill goes on when a run of it has ended.
    onOver: () => wakeup.send('operations'),
  })
  const runs = startLoop('step graph runs', () => stepper.step())
  const onTimedOut = ({ retries: hasRetries, running }: AfterTimeOut) => {
    wakeup.send('waiting')
    if (hasRetries) wakeup.send('retries')
    if (running) wakeup.send('cancels')
  }
  const storeUptime = new StoreUptime()
  startLoop('time out overdue', () => timeOutOverdue({ ...world, maintenance, onTimedOut }, storeUptime))
}

function startBackgroundWork({ world, store, wakeup, startLoop }: MaintenanceDeps): void {
  const { jobs, jobVersions, deadLetters, operations, requests, runSteps, workers, dailyPartitions } = store
  const { tenantEnds } = store
  const lanes = new LaneChooser()
  const waiting = new WaitingEstimates()
  const onChanged = () => wakeup.send('changes')
  const onReady = () => {
    wakeup.send('queue')
    wakeup.send('waiting')
  }
  const onCancelled = () => {
    wakeup.send('cancels')
    wakeup.send('waiting')
  }
  startLoop('run operations', () =>
    runOperation({ ...world, operations, lanes, waiting, onChanged, onReady, onCancelled }),
  )
  startLoop('end tenants', () => endTenants({ ...world, tenantEnds, onChanged, onCancelled }))
  startLoop('resume paused jobs', () => resumePaused({ jobs, onChanged }))
  const mover = new ClockRuleMover({ jobs, jobVersions, onChanged })
  startLoop('move clock rules', () => mover.step())
  startLoop('redrive dead letters', () => redriveDue({ ...world, deadLetters, lanes, onReady }))
  startLoop('keep partitions', async () => {
    await dailyPartitions.keep(world.clock.databaseNow())
    return 'idle'
  })
  startLoop('prune', async () => {
    const answers = await requests.prune(prunedMax)
    const ended = await operations.prune(prunedMax)
    const runs = await runSteps.prune(prunedMax)
    const gone = await workers.prune(prunedMax)
    const versions = await jobVersions.prune(versionStepsMax)
    return [answers, ended, runs, gone].includes(prunedMax) || versions === versionStepsMax ? 'more' : 'idle'
  })
}
