// Every event of the program, in the order of a process's life.

import type { RunStatus } from '../domain/graphs/graph-run.ts'
import type { Executor } from '../domain/jobs/job.ts'
import type { ExecutionKind, Outcome } from '../domain/queue/execution.ts'
import type { LoopFailure } from '../lib/loop.ts'
import { defineEvent } from './event.ts'

export interface AttemptFinished {
  executionId: string
  attempt: number
  kind: ExecutionKind
  executor: Executor
  outcome: Outcome
  /** Null: this was the last attempt. */
  retryAt: number | null
  deadReason: string | null
  /** From due to started; null unless it was the first attempt of a slot. */
  delayMs: number | null
  /** From due or requested to finished. */
  endToEndMs: number
  /** Null: it was cancelled before its call started. */
  durationMs: number | null
}

export const postgresReady = defineEvent<{
  how: 'started' | 'adopted'
  version: string
  postgresPid: number
  tookMs: number
}>('postgres.ready')
export const postgresWaited = defineEvent<{ waitedMs: number; logFile: string }>('postgres.waited')
export const postgresLost = defineEvent<{ reason: string }>('postgres.lost')
/** Of PostgreSQL, when root starts it. */
export const postgresUserMade = defineEvent<{ name: string; uid: number }>('postgres.user_made')
export const postgresUserUnnamed = defineEvent<{ name: string; uid: number; reason: string }>(
  'postgres.user_unnamed',
)
export const postgresHandedOver = defineEvent<{
  dir: string
  fromUid: number
  toUid: number
  files: number
}>('postgres.handed_over')
/** From the superuser to the role of the program, once. */
export const databaseHandedOver = defineEvent<{ database: string; role: string; objects: number }>(
  'database.handed_over',
)
export const databaseWaited = defineEvent<{ waitedMs: number; error: string }>('database.waited')
/** After all of its migrations. */
export const schemaMigrated = defineEvent<{ steps: number; tookMs: number }>('schema.migrated')
export const migrationApplied = defineEvent<{ number: number; name: string; tookMs: number }>(
  'migration.applied',
)
export const schemaNewer = defineEvent<{ known: number; found: number }>('schema.newer')
/** The API reads as the owner of the tables: the program's role may not set up the one that is under it. */
export const rowSecurityMissed = defineEvent<{ reason: string; remedy: string }>('row_security.missed')
export const connectionLost = defineEvent<{ pool: string; code: string; reason: string }>('connection.lost')
/** The pools of all processes of this start hold more than the database accepts. */
export const connectionsFew = defineEvent<{ most: number; wanted: number }>('connections.few')
/** The database's clock and ours went apart by more than drift explains; ours follows. */
export const clockStepped = defineEvent<{ stepMs: number }>('clock.stepped')
/** No partitions are held until the estimate of the database's clock is good again. */
export const clockLost = defineEvent<{ schedulerId: string; uncertaintyMs: number }>('clock.lost')
export const clockRegained = defineEvent<{ uncertaintyMs: number }>('clock.regained')
export const processExited = defineEvent<{
  process: number
  processPid: number
  reason: string
  restartMs: number
}>('process.exited')
/** The default port is taken: this process answers no probes. */
export const probesUnserved = defineEvent<{ host: string; port: number }>('probes.unserved')
/** A job names a target that its tenant may not call, or whose name leads to such an address. Once for each tenant and host. */
export const targetRefused = defineEvent<{ tenantId: string; host: string; address: string; kind: string }>(
  'target.refused',
)
/** The process (EMFILE) or the machine (ENFILE) has none left. At most once a minute. */
/** A statement found no room on the disk of the database; at most once a minute. */
export const diskFull = defineEvent<object>('disk.full')
export const filesExhausted = defineEvent<{ code: string; openFilesMax: number }>('files.exhausted')
export const workerRegistered = defineEvent<{ workerId: string }>('worker.registered')
export const workerLeaseLost = defineEvent<{ workerId: string }>('worker.lease_lost')
export const workerReclaimed = defineEvent<{ workerId: string; silentMs: number }>('worker.reclaimed')
export const schedulerExpelled = defineEvent<{ schedulerId: string; silentMs: number }>('scheduler.expelled')
export const partitionsChanged = defineEvent<{ schedulerId: string; held: number }>('partitions.changed')
export const overdueFound = defineEvent<{ jobs: number }>('overdue.found')
export const slotsFired = defineEvent<{
  slots: number
  /** Of them: did not become an execution now. */
  unfired: number
  /** Of them: had their record already. */
  taken: number
  tookMs: number
}>('slots.fired')
/** Charges of slots that made no execution could not be returned: their tenants lose that part of their budget. */
export const budgetNotReturned = defineEvent<{ error: unknown }>('budget.not_returned')
/** One attempt that was recorded. Times in ms. */
export const attemptFinished = defineEvent<AttemptFinished>('attempt.finished')
/** A result that came too late: the execution is no longer this worker's. */
export const attemptRefused = defineEvent<{ executionId: string; attempt: number; workerId: string }>(
  'attempt.refused',
)
/** Executions that were cancelled while no worker ran them. */
export const executionsCancelled = defineEvent<{ executions: number }>('executions.cancelled')
/** A run of a graph that ended. */
export const graphRunFinished = defineEvent<{ status: RunStatus }>('graph_run.finished')
/** A run of a graph that cannot be taken further: each time that is tried fails. It is tried again now and then. */
export const graphRunQuarantined = defineEvent<{ runId: string }>('graph_run.quarantined')
export const historyWriteFailed = defineEvent<{ executions: number; error: unknown }>('history.write_failed')
export const loopFailed = defineEvent<LoopFailure>('loop.failed')
export const requestFinished = defineEvent<{ method: string; route: string; status: number; tookMs: number }>(
  'request.finished',
)
export const requestFailed = defineEvent<{ method: string; url: string; error: Error }>('request.failed')
