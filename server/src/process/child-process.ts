// Entry point of a server process beside the first one, on the database that the first one prepared: every role but
// `api`, or a worker for executors that may kill the process they run in.
import { once } from 'node:events'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { childRoles, readConfig } from '../config/read.ts'
import { embeddedDatabase } from '../embedded-postgres/hold-postgres.ts'
import { reachSocketDir } from '../embedded-postgres/postmaster.ts'
import { killGroup } from '../lib/process-groups.ts'
import { DatabaseClock } from '../lib/time/clock.ts'
import { realTimers } from '../lib/time/timers.ts'
import { workerRegistered } from '../telemetry/events.ts'
import { startLog } from '../telemetry/log.ts'
import { ProcessMetrics, reportEveryMs } from '../telemetry/process-metrics.ts'
import { assignExecutors } from '../wiring/executors.ts'
import { assignHandlers } from '../wiring/handlers.ts'
import { type RunningServer, type ServerOptions, startServer } from '../wiring/server.ts'
import { CommandProcesses } from '../worker/executors/attempt-processes.ts'
import type { Groups } from '../worker/executors/command-process.ts'
import { sayError } from './console.ts'
import { aliveEveryMs, type ChildAssignment, type ProcessMessage } from './messages.ts'

/** Reported to the first process, which kills them when we die. */
class ReportedGroups implements Groups {
  inHaste = false
  readonly #groups = new Set<number>()

  async started(group: number): Promise<void> {
    this.#groups.add(group)
    await send({ groupStarted: group })
  }

  ended(group: number): void {
    this.#groups.delete(group)
    send({ groupEnded: group }).catch(() => {})
  }

  async kill(processes: CommandProcesses | null): Promise<void> {
    for (const group of this.#groups) killGroup(group, 'SIGKILL')
    processes?.killAll()
    await processes?.remove()
  }
}

/** Resolves when the message has been sent: it is then read even if we die. */
function send(message: ProcessMessage): Promise<void> {
  return new Promise((resolve, reject) => {
    if (!process.connected) reject(new Error('the first process is gone'))
    else process.send!(message, undefined, {}, (error) => (error ? reject(error) : resolve()))
  })
}

// The terminal's signals reach the first process too, which asks us to stop in its own time.
process.on('SIGINT', () => {})
process.on('SIGHUP', () => {})
const stopped = new Promise<'asked' | 'alone'>((resolve) => {
  process.once('SIGTERM', () => resolve('asked'))
  process.once('disconnect', () => resolve('alone'))
})
const config = readConfig()
startLog({
  level: config.logLevel,
  plain: process.stderr.isTTY === true,
  write: (line) => void process.stderr.write(line),
})
workerRegistered.subscribe(({ workerId }) => void send({ workerId }).catch(() => {}))
const clock = new DatabaseClock()
const metrics = new ProcessMetrics(() => clock.monotonicMs())
const groups = new ReportedGroups()
const told = await Promise.race([once(process, 'message'), stopped])
// Nothing has begun yet.
if (typeof told === 'string') process.exit(0)
const assignment = told[0] as ChildAssignment
const processes = assignment.kind === 'commands' ? new CommandProcesses(assignment.base) : null
// Bundles are unpacked for their user to read, also if this server keeps its files from others.
if (assignment.kind === 'commands' && 'user' in assignment.runAs && assignment.runAs.user !== null)
  process.umask(0o022)
// A handler that never lets go of the thread silences it, and the first process ends us.
sayAlive()
try {
  const address =
    config.databaseUrl === null
      ? { socketDir: await reachSocketDir(join(config.dataDir, 'pg')), database: embeddedDatabase }
      : { url: config.databaseUrl }
  const api = { operatorKey: '' }
  const server = await startServer({ config, address, api, ...optionsOf(assignment) })
  void sayCounts(assignment, server)
  // Alone: if we died, nothing would end the processes we have started, and the database may be gone with the first
  // process.
  const isAlone = (await stopped) === 'alone'
  groups.inHaste = isAlone
  await server.stop(isAlone ? 0 : config.drainMs)
  await groups.kill(processes)
  await report(assignment, server)
  if (assignment.kind === 'commands')
    await rm(assignment.base, { recursive: true, force: true }).catch(() => {})
  process.exit(0)
} catch (error) {
  await groups.kill(processes)
  // The first process starts us again.
  sayError(`a child process could not start: ${(error as Error).message}`)
  process.exit(1)
}

function optionsOf(
  assignment: ChildAssignment,
): Pick<ServerOptions, 'roles' | 'createAssignment' | 'onDrained'> {
  if (assignment.kind === 'roles') return { roles: childRoles(config) }
  if (assignment.kind === 'commands') {
    return {
      roles: ['worker'],
      createAssignment: (deps) => {
        const { base, runAs } = assignment
        return assignExecutors(config, deps, { groups, processes: processes!, base, runAs })
      },
      // Unfinished executions are handed back now: they must have stopped before another worker starts them again.
      onDrained: () => {
        groups.inHaste = true
      },
    }
  }
  return { roles: ['worker'], createAssignment: () => assignHandlers(config, assignment) }
}

function sayAlive(): void {
  send({ alive: true }).catch(() => {})
  realTimers.schedule(aliveEveryMs, sayAlive)
}

async function sayCounts(assignment: ChildAssignment, server: RunningServer): Promise<void> {
  await report(assignment, server)
  realTimers.schedule(reportEveryMs, () => void sayCounts(assignment, server))
}

async function report({ kind }: ChildAssignment, server: RunningServer): Promise<void> {
  // Only workers of HTTP are alike: a mean of others would say nothing.
  const utilization = kind === 'roles' ? server.utilization() : null
  await send({ report: await metrics.report(utilization) }).catch(() => {})
}
