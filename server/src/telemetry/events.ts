// Every event of the program, in the order of a process's life.
import type { LoopFailure } from '../lib/loop.ts'
import { defineEvent } from './event.ts'

export const postgresReady = defineEvent<{
  how: 'started' | 'adopted'
  version: string
  postgresPid: number
  tookMs: number
}>('postgres.ready')
export const postgresWaited = defineEvent<{ waitedMs: number; logFile: string }>('postgres.waited')
export const postgresLost = defineEvent<{ reason: string }>('postgres.lost')
export const databaseWaited = defineEvent<{ waitedMs: number; error: string }>('database.waited')
export const migrationApplied = defineEvent<{ number: number; name: string; tookMs: number }>(
  'migration.applied',
)
export const schemaNewer = defineEvent<{ known: number; found: number }>('schema.newer')
export const connectionLost = defineEvent<{ pool: string; error: Error }>('connection.lost')
export const processExited = defineEvent<{
  process: number
  processPid: number
  reason: string
  restartMs: number
}>('process.exited')
export const workerRegistered = defineEvent<{ workerId: string }>('worker.registered')
export const workerLeaseLost = defineEvent<{ workerId: string }>('worker.lease_lost')
export const workerReclaimed = defineEvent<{ workerId: string; silentMs: number }>('worker.reclaimed')
export const loopFailed = defineEvent<LoopFailure>('loop.failed')
export const requestFinished = defineEvent<{ method: string; route: string; status: number; tookMs: number }>(
  'request.finished',
)
export const requestFailed = defineEvent<{ method: string; url: string; error: Error }>('request.failed')
