// Logs: one JSON object a line on standard error, or a short plain line on a terminal. Text is constant,
// facts are fields.
import pino, { type DestinationStream } from 'pino'
import { Unavailable } from '../lib/unavailable.ts'
import type { Event } from './event.ts'
import * as events from './events.ts'

export interface LogOptions {
  level: string
  /** True: plain lines for a person. */
  plain: boolean
  write: (line: string) => void
}

type Level = 'trace' | 'debug' | 'info' | 'warn' | 'error'

export function startLog(options: LogOptions): Disposable {
  const destination: DestinationStream = {
    write: options.plain ? (line) => options.write(toPlain(line)) : options.write,
  }
  const logger: pino.Logger = pino(
    {
      level: options.level,
      base: { pid: process.pid },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (level) => ({ level }) },
      serializers: { error: (error: unknown) => describeError(error, logger.isLevelEnabled('debug')) },
    },
    destination,
  )
  const subscriptions = new DisposableStack()

  function on<T extends object>(event: Event<T>, level: Level, text: string): void {
    // Some events come with every attempt: a line that will not be written is not built.
    if (!logger.isLevelEnabled(level)) return
    subscriptions.use(
      event.subscribe((facts) => logger[level]({ event: event.name, ...facts } as object, text)),
    )
  }

  on(events.postgresReady, 'info', 'embedded PostgreSQL is ready')
  on(events.postgresWaited, 'info', 'waiting for embedded PostgreSQL; after a crash it replays its log')
  on(events.postgresUserMade, 'info', 'made a system user for embedded PostgreSQL')
  on(
    events.postgresUserUnnamed,
    'warn',
    'no system user could be made: embedded PostgreSQL runs under a free user id; useradd --system carillon makes the user',
  )
  on(events.postgresHandedOver, 'info', 'gave the data of embedded PostgreSQL to its own system user')
  on(events.databaseHandedOver, 'info', 'gave the database to the role of the program')
  on(events.postgresLost, 'warn', 'embedded PostgreSQL stopped; restarting it')
  on(events.databaseWaited, 'warn', 'the database does not answer yet; trying again')
  on(events.migrationApplied, 'debug', 'migration applied')
  on(events.schemaMigrated, 'info', 'the schema is up to date')
  on(
    events.schemaNewer,
    'warn',
    'the schema is newer than this program; continuing, because it stays compatible',
  )
  on(
    events.rowSecurityMissed,
    'info',
    'row-level security is off: the role of the program may not set it up; an administrator turns it on with the SQL in remedy',
  )
  on(
    events.connectionsFew,
    'warn',
    'the database accepts fewer connections than this server may open: raise its max_connections, or lower CARILLON_DATABASE_CONNECTIONS or CARILLON_PROCESSES',
  )
  on(
    events.budgetNotReturned,
    'warn',
    'charges of executions that were not made could not be returned: their tenants have that much less budget',
  )
  on(events.connectionLost, 'warn', 'an idle database connection was lost')
  on(
    events.clockStepped,
    'warn',
    'the clocks of the database and of this process diverged; following the clock of the database',
  )
  on(
    events.clockLost,
    'error',
    'the estimate of the database’s clock is too imprecise; this scheduler holds no partitions until it improves',
  )
  on(events.clockRegained, 'info', 'the estimate of the database’s clock is precise again')
  on(events.processExited, 'error', 'a server process exited; restarting it')
  on(
    events.probesUnserved,
    'warn',
    'the port is in use by another program; continuing without /livez, /readyz and /metrics: set CARILLON_PORT to have them',
  )
  on(
    events.filesExhausted,
    'error',
    'no file descriptor is left: calls fail and clients are turned away; raise the limit of open files (ulimit -n, LimitNOFILE)',
  )
  on(
    events.diskFull,
    'error',
    'the disk of the database is full: writes are refused until there is room again',
  )
  on(
    events.targetRefused,
    'info',
    'a target with a private address was refused (CARILLON_ALLOW_PRIVATE_TARGETS)',
  )
  on(events.workerRegistered, 'debug', 'worker registered')
  on(events.workerLeaseLost, 'warn', 'this worker was declared dead; it continues under a new id')
  on(events.workerReclaimed, 'warn', 'a worker without heartbeats was declared dead')
  on(
    events.schedulerExpelled,
    'warn',
    'a scheduler without heartbeats was declared dead; its partitions are free',
  )
  on(events.partitionsChanged, 'debug', 'partitions held')
  on(
    events.overdueFound,
    'error',
    'overdue jobs were missing from memory and fire now; please report this bug',
  )
  on(events.attemptRefused, 'warn', 'a late result was refused; this worker no longer holds the execution')
  on(events.attemptFinished, 'trace', 'attempt finished')
  on(events.executionsCancelled, 'trace', 'executions cancelled')
  on(events.graphRunFinished, 'trace', 'graph run finished')
  on(events.graphRunQuarantined, 'error', 'graph run quarantined: its step failed repeatedly')
  on(events.slotsFired, 'trace', 'slots fired')
  on(events.loopFailed, 'warn', 'a step failed; trying again')
  on(events.requestFailed, 'error', 'a request failed')
  on(events.requestFinished, 'trace', 'request')
  return subscriptions
}

/** Of a database that does not answer the place in the program says nothing; its cause does. */
function describeError(error: unknown, isDetailed: boolean): unknown {
  if (isDetailed || !(error instanceof Unavailable)) return pino.stdSerializers.errWithCause(error as Error)
  const messages: string[] = []
  for (let one: unknown = error; one instanceof Error; one = one.cause) messages.push(one.message)
  return { type: error.constructor.name, message: messages.join(': ') }
}

const hidden = new Set(['level', 'time', 'pid', 'event', 'msg'])

function toPlain(line: string): string {
  const entry = JSON.parse(line) as Record<string, unknown> & { level: string; time: string; msg: string }
  const level = entry.level.toUpperCase().padEnd(5)
  const facts = Object.entries(entry)
    .filter(([name]) => !hidden.has(name))
    .map(([name, value]) => `${name}=${plainValue(value)}`)
  return `${entry.time.slice(11, 23)} ${level} ${entry.msg} ${facts.join(' ')}`.trimEnd().concat('\n')
}

function plainValue(value: unknown): string {
  if (typeof value === 'number') return String(Math.round(value * 10) / 10)
  if (typeof value === 'string') return value
  const { message, stack } = (value ?? {}) as { message?: string; stack?: string }
  return message === undefined ? JSON.stringify(value) : (stack ?? message)
}
