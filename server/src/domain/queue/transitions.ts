// The life of an execution: every state it can be in, every event that moves it, the part of the system that may cause
// the event, and the guard: the lock, key or fence. `docs/internals/states.md` is rendered from this table, and the lockstep test
// fails on any observed move that is not in it.
import { moves, type TransitionEvent, type TransitionTable } from '../../lib/transition-table.ts'
import type { LiveState, Outcome } from './execution.ts'

/**
 * `cancelling` is a running or awaiting execution with a cancel flag. A position in an unclaimed batch is `ready`, a position in
 * a claimed batch is `running`.
 */
export type ExecutionState = LiveState | 'cancelling' | EndState
export type EndState = Exclude<Outcome, 'lost'>

const reported = ['queue.finishBatches', 'queue.finishLive', 'attempts.report']
const reportGuard =
  'worker id and fence of the claim; for an SDK worker or a called target also the number of the attempt'
const runGuard = "row lock on the graph run; the run's nodes say which execution is meant"

const events = {
  create: {
    by: 'API: a job that runs at once is created',
    calls: ['jobs.create'],
    guard: 'the insert of the job itself',
  },
  fire: {
    by: 'scheduler: a slot is due',
    calls: ['slots.fire', 'slots.fireAndClaim'],
    guard: 'row lock on the cursor with the version of the plan; primary key (job, slot) of `slots`',
  },
  trigger: {
    by: 'API, operations',
    calls: ['jobs.trigger', 'jobs.triggerMany'],
    guard: 'row lock on the cursor; idempotency key of the request',
  },
  backfill: {
    by: 'operations',
    calls: ['jobs.enqueueBackfill'],
    guard: 'row lock on the operation and on the cursor',
  },
  repeat: {
    by: 'API, operations, maintenance (automatic redrive)',
    calls: ['control.retry', 'deadLetters.redrive'],
    guard: 'row lock on the cursor; a dead letter is deleted in the same transaction',
  },
  'catch up': {
    by: 'maintenance: a late slot that was owed runs',
    calls: ['maintenance.release'],
    guard: 'row lock on the cursor; primary key (job, slot) of `slots`',
  },
  'start run': {
    by: 'graph runs: a root has fired',
    calls: ['runSteps.step'],
    guard: 'primary key of the graph run, which follows from the graph and the slot',
  },
  'resume run': {
    by: 'API',
    calls: ['graphRuns.resume'],
    guard: runGuard,
  },
  proceed: {
    by: 'graph runs: every dependency ended as it must',
    calls: ['runSteps.step', 'graphRuns.resume'],
    guard: runGuard,
  },
  skip: {
    by: 'graph runs: a dependency cannot be met, or the job is paused or deleted',
    calls: ['runSteps.step', 'graphRuns.resume'],
    guard: runGuard,
  },
  'skip for quota': {
    by: 'maintenance: a slot waited for the budget of its tenant until its misfire window was over',
    calls: ['executionBudgets.skipExpired'],
    guard: 'row lock with SKIP LOCKED; the row still waits for the budget',
  },
  release: {
    by: 'maintenance',
    calls: ['maintenance.release'],
    guard: 'row lock on the cursor, advisory lock on the concurrency key; the row is still `waiting`',
  },
  hold: {
    by: 'API, operations: a job is deleted with more executions than end in one transaction',
    calls: ['jobs.change'],
    guard: 'row lock on the cursor and on the row of `live`',
  },
  claim: {
    by: 'worker; scheduler and API for the worker beside them (claim on insert)',
    calls: ['queue.claim', 'slots.fireAndClaim', 'jobs.trigger'],
    guard: "key-share lock on the worker's lease, row lock with SKIP LOCKED; the fence grows by one",
  },
  'hand back': {
    by: 'worker: the attempt was not started',
    calls: [...reported, 'queue.releaseUnknown'],
    guard: reportGuard,
  },
  accept: {
    by: 'worker: the target answered 202',
    calls: reported,
    guard: reportGuard,
  },
  succeed: {
    by: 'worker, SDK worker, called target',
    calls: reported,
    guard: reportGuard,
  },
  fail: {
    by: 'worker, SDK worker, called target: failed or timed out; retried if the retry policy says so',
    calls: reported,
    guard: reportGuard,
  },
  expire: {
    by: 'maintenance: a deadline, a heartbeat or the total time was missed',
    calls: ['maintenance.timeOut'],
    guard: "attempt and fence as found; still overdue by the database's clock",
  },
  lose: {
    by: 'maintenance: the lease of the worker is over',
    calls: ['maintenance.reclaim'],
    guard: 'row lock on the lease while its beats stand still; deleted in the same transaction',
  },
  wake: {
    by: 'maintenance',
    calls: ['maintenance.wake'],
    guard: 'row lock with SKIP LOCKED; the row is still `retrying`',
  },
  cancel: {
    by: 'API, operations, maintenance (CANCEL_RUNNING, deleted jobs and tenants), graph runs',
    calls: [
      ...['control.cancel', 'control.cancelMany', 'operations.cancel', 'jobs.change'],
      ...['maintenance.release', 'graphRuns.cancel', 'graphRuns.resume', 'runSteps.step'],
    ],
    guard: 'row lock on the batch or on the row of `live`; the first message stands',
  },
  stop: {
    by: 'worker, SDK worker, called target, maintenance: a cancelled attempt is over',
    calls: [...reported, 'queue.releaseUnknown', 'maintenance.timeOut', 'maintenance.reclaim'],
    guard: 'the guard of the event that ends the attempt',
  },
} satisfies Record<string, TransitionEvent>

export const executionTransitions: TransitionTable<ExecutionState, keyof typeof events> = {
  states: {
    blocked: 'waits for other jobs of its graph run',
    waiting:
      'waits until the overlap policy, the concurrency limit or the concurrency key lets it go, or until it ends with its deleted job',
    ready: 'may be claimed: a position in an unclaimed batch, or a row of `live`',
    running: 'claimed by a worker: a position in a claimed batch, or a row of `live`',
    awaiting: 'its target answered 202 and will report the end',
    retrying: 'between two attempts, until `ready_at`',
    cancelling:
      'runs or awaits its end, and a cancel was requested; it ends cancelled regardless of the report',
    succeeded: 'ended: SUCCEEDED',
    failed: 'ended: FAILED, often with a dead letter',
    timed_out: 'ended: TIMED_OUT',
    cancelled: 'ended: CANCELLED',
    skipped: 'ended: SKIPPED; a node of a graph run that never became ready',
  },
  events,
  transitions: [
    ...moves([null], 'create', ['ready', 'waiting']),
    ...moves([null], 'fire', ['ready', 'waiting']),
    ...moves([null], 'trigger', ['ready', 'waiting']),
    ...moves([null], 'backfill', ['ready', 'waiting']),
    ...moves([null], 'repeat', ['ready', 'waiting']),
    ...moves([null], 'catch up', ['ready', 'waiting']),
    ...moves([null], 'start run', ['blocked']),
    ...moves([null], 'resume run', ['blocked']),
    ...moves(['blocked'], 'proceed', ['ready', 'waiting']),
    ...moves(['blocked'], 'skip', ['skipped']),
    ...moves(['ready'], 'skip for quota', ['skipped']),
    ...moves(['waiting'], 'release', ['ready']),
    ...moves(['ready', 'retrying'], 'hold', ['waiting']),
    ...moves(['ready'], 'claim', ['running']),
    ...moves(['running'], 'hand back', ['ready']),
    ...moves(['running'], 'accept', ['awaiting']),
    ...moves(['running', 'awaiting'], 'succeed', ['succeeded']),
    ...moves(['running', 'awaiting'], 'fail', ['retrying', 'failed', 'timed_out']),
    ...moves(['running', 'awaiting'], 'expire', ['retrying', 'timed_out']),
    ...moves(['ready', 'retrying'], 'expire', ['timed_out']),
    ...moves(['running'], 'lose', ['ready', 'failed']),
    ...moves(['retrying'], 'wake', ['ready']),
    ...moves(['blocked', 'waiting', 'ready', 'retrying'], 'cancel', ['cancelled']),
    ...moves(['running', 'awaiting'], 'cancel', ['cancelling']),
    ...moves(['cancelling'], 'stop', ['cancelled']),
  ],
}
