// Maintenance and chores of one simulated server, as `wire-scheduler.ts` and `wire-chores.ts` start them.
import { LaneChooser } from '../../src/domain/queue/lane.ts'
import { createLeaseWatch, reclaimEveryMs, reclaimLost } from '../../src/maintenance/reclaim-lost.ts'
import { redriveDue, redriveDueEveryMs } from '../../src/maintenance/redrive-due.ts'
import { lookForWaitingEveryMs, Releaser } from '../../src/maintenance/release-waiting.ts'
import { resumePaused, resumePausedEveryMs } from '../../src/maintenance/resume-paused.ts'
import { runOperation, runOperationsEveryMs } from '../../src/maintenance/run-operations.ts'
import { lookForRunsEveryMs, RunStepper } from '../../src/maintenance/step-runs.ts'
import {
  type AfterTimeOut,
  StoreUptime,
  timeOutEveryMs,
  timeOutOverdue,
} from '../../src/maintenance/time-out.ts'
import { wakeEveryMs, wakeReady } from '../../src/maintenance/wake-ready.ts'
import type { RoleDeps } from './server.ts'

export function startMaintenance(deps: RoleDeps): void {
  const { world, ports, pollFactor, watchFactor, startLoop, send, on, isStopping } = deps
  const { maintenance, runSteps } = ports
  const onReady = () => send('queue')
  const onCancelled = () => send('cancels')
  const lanes = new LaneChooser()
  const watch = createLeaseWatch()
  startLoop('reclaim lost workers', reclaimEveryMs * watchFactor, async () => {
    if (isStopping()) return 'idle'
    const reclaimed = await reclaimLost({ clock: world.clock, maintenance }, watch)
    if (reclaimed > 0) {
      onReady()
      send('waiting')
    }
    return 'idle'
  })
  const retries = startLoop('wake retries', wakeEveryMs * pollFactor, () =>
    wakeReady({ ...world, maintenance, onReady }),
  )
  on('retries', () => retries.wake())
  const onPlanned = () => send('changes')
  const releaser = new Releaser({ ...world, lanes, maintenance, onReady, onCancelled, onPlanned })
  const waiting = startLoop('release waiting', lookForWaitingEveryMs * pollFactor, async () => {
    const more = await releaser.step()
    if (more !== 'idle') runs.wake()
    return rarer(more, pollFactor)
  })
  const onWaiting = () => send('waiting')
  const onOver = () => send('operations')
  const stepper = new RunStepper({ ...world, lanes, runSteps, onReady, onWaiting, onCancelled, onOver })
  const runs = startLoop('step graph runs', lookForRunsEveryMs * pollFactor, () => stepper.step())
  on('waiting', () => {
    waiting.wake()
    runs.wake()
  })
  const storeUptime = new StoreUptime()
  const onTimedOut = ({ retries: hasRetries, running }: AfterTimeOut) => {
    send('waiting')
    if (hasRetries) send('retries')
    if (running) send('cancels')
  }
  startLoop('time out overdue', timeOutEveryMs * watchFactor, () =>
    timeOutOverdue({ ...world, maintenance, onTimedOut }, storeUptime),
  )
}

export function startBackgroundWork({ world, ports, pollFactor, startLoop, send, on }: RoleDeps): void {
  const { jobs, deadLetters, operations } = ports
  const lanes = new LaneChooser()
  const onChanged = () => send('changes')
  const onReady = () => {
    send('queue')
    send('waiting')
  }
  const onCancelled = () => {
    send('cancels')
    send('waiting')
  }
  const deps = { ...world, operations, lanes, onChanged, onReady, onCancelled }
  const run = startLoop('run operations', runOperationsEveryMs, async () =>
    rarer(await runOperation(deps), pollFactor),
  )
  on('operations', () => run.wake())
  startLoop('resume paused jobs', resumePausedEveryMs * pollFactor, () => resumePaused({ jobs, onChanged }))
  startLoop('redrive dead letters', redriveDueEveryMs, () =>
    redriveDue({ ...world, deadLetters, lanes, onReady }),
  )
}

/** A wait that a step asks for, as rare as the polls are. */
function rarer(more: 'more' | 'idle' | number, factor: number): 'more' | 'idle' | number {
  return typeof more === 'number' ? more * factor : more
}
