// Every loop of a server: its duty, how often it runs, the wake-ups that cut its wait short, and the role that runs it.
// The wiring starts loops by their names here; docs/internals/loops.md is rendered from this list.
import { workerBeatMs } from '../domain/queue/worker.ts'
import type { Role } from '../domain/role.ts'
import { reportRequestsEveryMs } from '../domain/tenants/request-shares.ts'
import { foldDaysEveryMs, foldRollupsEveryMs } from '../history/fold-rollups.ts'
import { foldStatsEveryMs } from '../history/fold-stats.ts'
import { historyDutyEveryMs } from '../history/history-duty.ts'
import { pruneHistoryEveryMs } from '../history/prune-history.ts'
import { Loop, type LoopFailure, type Step } from '../lib/loop.ts'
import { probeFilesEveryMs } from '../lib/open-files.ts'
import { endTenantsEveryMs } from '../maintenance/end-tenants.ts'
import { letHeldGoEveryMs } from '../maintenance/let-held-go.ts'
import { moveClockRuleEveryMs } from '../maintenance/move-clock-rule.ts'
import { reclaimEveryMs } from '../maintenance/reclaim-lost.ts'
import { redriveDueEveryMs } from '../maintenance/redrive-due.ts'
import { lookForWaitingEveryMs } from '../maintenance/release-waiting.ts'
import { resumePausedEveryMs } from '../maintenance/resume-paused.ts'
import { runOperationsEveryMs } from '../maintenance/run-operations.ts'
import { lookForRunsEveryMs } from '../maintenance/step-runs.ts'
import { timeOutEveryMs } from '../maintenance/time-out.ts'
import { wakeEveryMs } from '../maintenance/wake-ready.ts'
import type { WakeupSource, WakeupTopic } from '../ports/wakeup.ts'
import type { World } from '../ports/world.ts'
import { refreshBudgetsEveryMs } from '../scheduler/charge-slots.ts'
import { loadEveryMs, recoverOverdueEveryMs, takeChangesEveryMs } from '../scheduler/fill-window.ts'
import { fireEveryMs } from '../scheduler/fire-due.ts'
import { schedulerBeatMs, shareEveryMs } from '../scheduler/hold-partitions.ts'
import { sendUpdatesEveryMs } from '../worker/attempt-updates.ts'
import { refreshKeysEveryMs } from '../worker/call-signer.ts'
import { claimEveryMs } from '../worker/claim.ts'
import { watchPeersEveryMs } from '../worker/claim-spread.ts'
import { pollCancellationsEveryMs } from '../worker/worker.ts'

export interface LoopSpec {
  role: Role | 'all'
  /** The longest wait between two steps; a step may ask for a shorter one. */
  everyMs: number
  /** Wake-ups, from any process, that end the wait. */
  wokenBy?: readonly WakeupTopic[]
  /** The events within this process that end the wait. */
  wokenAt?: string
  /** The longest wait after failed steps. Default 5 s. */
  failedMsMax?: number
  does: string
}

/** A lease must be renewed soon after the database is back, before its holder is declared dead. */
const leaseFailedMsMax = 1_000

export const LOOPS = {
  'sync clock': {
    role: 'all',
    everyMs: 5_000,
    failedMsMax: leaseFailedMsMax,
    does: "Measures the offset to the database's clock; every 500 ms while the estimate is not good.",
  },
  'listen for wake-ups': {
    role: 'all',
    everyMs: 1_000,
    does: 'Holds the connection that hears the hints of other processes; one step lasts until it breaks.',
  },
  'probe open files': {
    role: 'all',
    everyMs: probeFilesEveryMs,
    does: 'Opens a file, to notice that no file descriptor is left (`files.exhausted`).',
  },

  'share request limits': {
    role: 'api',
    everyMs: reportRequestsEveryMs,
    wokenAt: 'a tenant with a limit begins to send many requests',
    does: "Divides each tenant's limit on requests a second among the processes with the role api; asks nothing while there is one tenant and no such limit.",
  },

  'load window': {
    role: 'scheduler',
    everyMs: loadEveryMs,
    wokenAt: 'partitions were taken',
    does: 'Loads the slots of the coming seconds into the due queue.',
  },
  'fire due slots': {
    role: 'scheduler',
    everyMs: fireEveryMs,
    wokenAt: 'the due queue has a new entry',
    does: 'Enqueues the executions of due slots. Three of these loops run at once.',
  },
  'take changes': {
    role: 'scheduler',
    everyMs: takeChangesEveryMs,
    wokenBy: ['changes'],
    does: 'Brings new and changed jobs into the due queue.',
  },
  'find overdue jobs': {
    role: 'scheduler',
    everyMs: recoverOverdueEveryMs,
    does: 'Finds due jobs that are missing from the due queue.',
  },
  'refresh budgets': {
    role: 'scheduler',
    everyMs: refreshBudgetsEveryMs,
    does: 'Notices changes of tiers, which may give tenants another limit of executions a minute.',
  },
  'hold scheduler lease': {
    role: 'scheduler',
    everyMs: schedulerBeatMs,
    failedMsMax: leaseFailedMsMax,
    does: "Renews the scheduler's lease.",
  },
  'share partitions': {
    role: 'scheduler',
    everyMs: shareEveryMs,
    does: 'Takes and releases partitions until each scheduler has its share; expels dead schedulers.',
  },
  'reclaim lost workers': {
    role: 'scheduler',
    everyMs: reclaimEveryMs,
    does: 'Ends the leases of workers without heartbeats; their executions are queued again.',
  },
  'wake retries': {
    role: 'scheduler',
    everyMs: wakeEveryMs,
    wokenBy: ['retries'],
    does: 'Makes retries claimable when their delay is over.',
  },
  'release waiting': {
    role: 'scheduler',
    everyMs: lookForWaitingEveryMs,
    wokenBy: ['waiting'],
    does: 'Releases executions that waited for an overlap rule or a concurrency limit.',
  },
  'let held back go': {
    role: 'scheduler',
    everyMs: letHeldGoEveryMs,
    wokenBy: ['waiting'],
    does: 'Lets executions go that waited for the budget of their tenant; skips slots that waited too long for it.',
  },
  'step graph runs': {
    role: 'scheduler',
    everyMs: lookForRunsEveryMs,
    wokenBy: ['waiting'],
    wokenAt: 'an execution was released',
    does: 'Starts the next nodes of graph runs and ends finished runs.',
  },
  'time out overdue': {
    role: 'scheduler',
    everyMs: timeOutEveryMs,
    does: 'Ends executions past their deadline.',
  },
  'run operations': {
    role: 'scheduler',
    everyMs: runOperationsEveryMs,
    wokenBy: ['operations'],
    does: 'Takes bulk operations and backfills one step further.',
  },
  'end tenants': {
    role: 'scheduler',
    everyMs: endTenantsEveryMs,
    wokenBy: ['operations'],
    does: 'Takes deletes, restores and purges of tenants one step further.',
  },
  'resume paused jobs': {
    role: 'scheduler',
    everyMs: resumePausedEveryMs,
    does: 'Resumes jobs whose pause is over.',
  },
  'move clock rules': {
    role: 'scheduler',
    everyMs: moveClockRuleEveryMs,
    does: 'After an upgrade: gives jobs that an older program wrote the present clock rule.',
  },
  'redrive dead letters': {
    role: 'scheduler',
    everyMs: redriveDueEveryMs,
    does: 'Redrives dead letters whose automatic redrive is due.',
  },
  'keep partitions': {
    role: 'scheduler',
    everyMs: 3_600_000,
    does: 'Creates the daily partitions of the next two weeks; drops partitions past their retention.',
  },
  prune: {
    role: 'scheduler',
    everyMs: 60_000,
    does: 'Deletes old idempotency keys, operations and graph runs, and prunes the versions of jobs.',
  },
  'hold history role': {
    role: 'history',
    everyMs: historyDutyEveryMs,
    does: 'Tells schedulers that a process has the role history.',
  },
  'watch history role': {
    role: 'scheduler',
    everyMs: historyDutyEveryMs,
    does: 'Without the role history: runs the loops of history while no process with the role is alive.',
  },
  'fold statistics': {
    role: 'history',
    everyMs: foldStatsEveryMs,
    does: 'Folds ended attempts into the statistics of jobs.',
  },
  'fold rollups: tenant': {
    role: 'history',
    everyMs: foldRollupsEveryMs,
    does: "Folds ended attempts into each tenant's activity.",
  },
  'fold rollups: job': {
    role: 'history',
    everyMs: foldRollupsEveryMs,
    does: "Folds ended attempts into each job's activity.",
  },
  'fold rollups: skip': {
    role: 'history',
    everyMs: foldRollupsEveryMs,
    does: 'Folds skipped slots into the activity.',
  },
  'fold rollups: health': {
    role: 'history',
    everyMs: foldRollupsEveryMs,
    does: 'Folds ended executions into the last result of each job.',
  },
  'fold rollups: day': {
    role: 'history',
    everyMs: foldDaysEveryMs,
    does: 'Folds the activity into days.',
  },
  'prune history': {
    role: 'history',
    everyMs: pruneHistoryEveryMs,
    does: 'Deletes old statistics, logs and rollups.',
  },

  'hold worker lease': {
    role: 'worker',
    everyMs: workerBeatMs,
    failedMsMax: leaseFailedMsMax,
    does: "Renews the worker's lease.",
  },
  'finish executions': {
    role: 'worker',
    everyMs: 1_000,
    wokenAt: 'an attempt ended',
    does: 'Writes the results of ended attempts.',
  },
  'expire batches': {
    role: 'worker',
    everyMs: 1_000,
    wokenAt: 'executions were claimed',
    does: 'Starts held executions that have room, hands back batches held for too long, gives up in an outage.',
  },
  'claim executions': {
    role: 'worker',
    everyMs: claimEveryMs,
    wokenBy: ['queue'],
    wokenAt: 'results were written, or a side claim left something to reconcile or release',
    does: 'Claims executions, shared fairly among tenants.',
  },
  'claim shared lane': {
    role: 'worker',
    everyMs: claimEveryMs,
    wokenBy: ['shared'],
    does: 'HTTP only: claims from the shared lane while a large claim is under way.',
  },
  'watch peers': {
    role: 'worker',
    everyMs: watchPeersEveryMs,
    wokenBy: ['peers'],
    does: 'Lists the workers that could claim the same executions, so that long ones are spread over all of them, and learns the limits of tenants and whether several of them have jobs.',
  },
  'poll cancellations': {
    role: 'worker',
    everyMs: pollCancellationsEveryMs,
    wokenBy: ['cancels'],
    does: 'Stops running attempts that were cancelled.',
  },
  'refresh signing keys': {
    role: 'worker',
    everyMs: refreshKeysEveryMs,
    wokenBy: ['keys'],
    does: 'HTTP only: reloads the keys that sign calls.',
  },
  'send attempt updates': {
    role: 'worker',
    everyMs: sendUpdatesEveryMs,
    does: 'Commands and handlers only: writes progress and logs of running attempts.',
  },
} as const satisfies Record<string, LoopSpec>

export type LoopName = keyof typeof LOOPS

/** `mayWake`: a wake-up from `wokenBy` is ignored while this is false. */
export type StartLoop = (name: LoopName, step: Step, options?: { mayWake?: () => boolean }) => Loop

export interface LoopDeps {
  world: Pick<World, 'timers' | 'random'>
  wakeup: WakeupSource
  /** Ends the loops when it is disposed of. */
  resources: AsyncDisposableStack
  onFailure: (failure: LoopFailure) => void
}

/** `specs`: the simulator polls more rarely. */
export function createLoopStarter(deps: LoopDeps, specs: Record<LoopName, LoopSpec> = LOOPS): StartLoop {
  const { world, wakeup, resources, onFailure } = deps
  return (name, step, { mayWake = () => true } = {}) => {
    const { everyMs, wokenBy = [], failedMsMax } = specs[name]
    const patience = failedMsMax === undefined ? {} : { failedMsMax }
    const loop = resources.use(new Loop(world, { name, idleMs: everyMs, step, onFailure, ...patience }))
    for (const topic of wokenBy) {
      wakeup.on(topic, () => {
        if (mayWake()) loop.wake()
      })
    }
    return loop
  }
}
