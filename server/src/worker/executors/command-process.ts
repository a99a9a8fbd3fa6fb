// Runs a command in a process group of its own, until the whole group is gone. The command begins only once a process
// that outlives us knows of the group, so a command that kills us at once still leaves nothing behind. It never hangs
// on a pipe that a grandchild holds.
import { type ChildProcess, spawn } from 'node:child_process'
import type { Readable, Writable } from 'node:stream'
import { LineReader } from '../../lib/line-reader.ts'
import { groupLives, killGroup } from '../../lib/process-groups.ts'
import type { SystemUser } from '../../lib/system-users.ts'
import { withDeadline } from '../../lib/time/deadline.ts'
import type { Timers } from '../../ports/timers.ts'
import { type AttemptProcesses, type CommandProcesses, directoryVariable } from './attempt-processes.ts'
import { type CommandLimits, gate, gateArguments } from './command-gate.ts'

export interface Groups {
  /** Resolves once the group would be killed if we died; rejects when nobody is there to do it. */
  started(group: number): Promise<void>
  ended(group: number): void
  /** Whether we are on our way out: nobody waits for a command to stop by itself then. */
  readonly inHaste: boolean
}

export interface CommandDeps {
  timers: Timers
  groups: Groups
  processes: CommandProcesses
  /** Null: commands run as ourselves. */
  user: SystemUser | null
  limits: CommandLimits
}

export interface Command {
  /** Absolute. */
  file: string
  args: readonly string[]
  directory: string
  /** The whole environment, but for the variable that names the directory. */
  env: Readonly<Record<string, string>>
  stdin: string
  /** Null: as much as it wants. */
  cpuSeconds: number | null
  /** 'words': lines written to descriptor `wordsDescriptor`; absent unless `hasWords`. */
  onLine: (from: 'stdout' | 'stderr' | 'words', line: string) => void
  hasWords: boolean
  /** CPU time of all its processes, in ms. Called at most once, before it has ended. */
  onUsed: (cpuMs: number) => void
}

export type CommandEnd =
  | { kind: 'exited'; code: number }
  | { kind: 'killed'; by: NodeJS.Signals }
  | { kind: 'not_started'; reason: string }

export interface RunningCommand {
  /** Undefined: it could not be started. */
  group: number | undefined
  ended: Promise<CommandEnd>
  /** All of the group; gently: SIGTERM first, and SIGKILL some time later. */
  stop(how: 'gently' | 'at once'): void
}

const wordsDescriptor = 4
/** Enough for a checkpoint in JSON and the message around it. */
const lineBytesMax = 128 * 1024
const termMs = 5_000
/** Not even a killed process ends while the kernel holds it. */
const killedMs = 5_000
/** Time for child processes that still write after the command itself has ended. */
const lingerMs = 500
const drainMs = 1_000
const lookMs = 100

export function startCommand(deps: CommandDeps, command: Command): RunningCommand {
  const { file, args, directory, env, cpuSeconds, hasWords } = command
  const { limits, user } = deps
  const processes = deps.processes.of(deps.timers, directory, limits.processesMax)
  const bounds = gateArguments({ ...limits, cpuSeconds, keepsPrivileges: user === null })
  const child = spawn('/bin/sh', ['-c', gate, 'carillon-gate', ...bounds, file, ...args], {
    ...user,
    cwd: directory,
    env: { ...env, [directoryVariable]: directory },
    detached: true,
    stdio: hasWords ? ['pipe', 'pipe', 'pipe', 'pipe', 'pipe'] : ['pipe', 'pipe', 'pipe', 'pipe'],
  })
  if (child.pid !== undefined) processes.begin(child.pid)
  const stop = stopper(deps, child.pid)
  const ended = follow(deps, { child, command, processes, stop })
  return { group: child.pid, ended, stop: stop.stop }
}

interface Started {
  child: ChildProcess
  command: Command
  processes: AttemptProcesses
  stop: ReturnType<typeof stopper>
}

async function follow(
  { timers, groups }: CommandDeps,
  { child, command, processes, stop }: Started,
): Promise<CommandEnd> {
  const exited = new Promise<CommandEnd>((resolve) => {
    child.once('exit', (code, signal) => {
      processes.exited()
      resolve(signal === null ? { kind: 'exited', code: code! } : { kind: 'killed', by: signal })
    })
    child.once('error', (error) => resolve({ kind: 'not_started', reason: error.message }))
  })
  const closed = new Promise<void>((resolve) => child.once('close', () => resolve()))
  const finish = readLines(child, command)
  const group = child.pid
  if (group === undefined) {
    processes.end()
    return exited
  }
  const [stdin, , , opener] = child.stdio as Writable[]
  // A command that does not read its input, or has ended, breaks the pipe.
  for (const pipe of [stdin!, opener!]) pipe.on('error', () => {})
  groups.started(group).then(
    () => {
      opener!.end('go\n')
      stdin!.end(command.stdin)
    },
    () => stop.stop('at once'),
  )
  const end = await Promise.race([exited, stop.givenUp])
  // A shell dies of SIGTERM at once, while the program that it waited for may still be putting its things away.
  while (stop.isAsked() && groupLives(group)) await timers.wait(lookMs)
  await withDeadline(timers, groups.inHaste ? 0 : lingerMs, closed)
  killGroup(group, 'SIGKILL')
  processes.kill()
  // Output written before the kill stays readable; the pipe of a process that we did not find may never end.
  await withDeadline(timers, drainMs, closed)
  stop.forget()
  for (const pipe of child.stdio) pipe?.destroy()
  finish()
  const cpuMs = await processes.readCpuMs()
  if (cpuMs !== null) command.onUsed(cpuMs)
  processes.end()
  groups.ended(group)
  return end
}

function readLines(child: ChildProcess, { onLine, hasWords }: Command): () => void {
  const readers = (['stdout', 'stderr', ...(hasWords ? (['words'] as const) : [])] as const).map((from) => {
    const pipe = child.stdio[from === 'stdout' ? 1 : from === 'stderr' ? 2 : wordsDescriptor] as Readable
    const reader = new LineReader(lineBytesMax, (line) => onLine(from, line))
    pipe?.on('data', (chunk: Buffer) => reader.push(chunk))
    pipe?.on('error', () => {})
    return reader
  })
  return () => {
    for (const reader of readers) reader.end()
  }
}

function stopper({ timers, groups }: Pick<CommandDeps, 'timers' | 'groups'>, group: number | undefined) {
  const stopping = new AbortController()
  const givenUp = Promise.withResolvers<CommandEnd>()
  let stage: 'running' | 'asked' | 'killed' = 'running'

  function stop(how: 'gently' | 'at once'): void {
    if (group === undefined || stopping.signal.aborted || stage === 'killed') return
    if (how === 'at once' || groups.inHaste) {
      stage = 'killed'
      killGroup(group, 'SIGKILL')
      void timers
        .wait(killedMs, stopping.signal)
        .then(() => givenUp.resolve({ kind: 'killed', by: 'SIGKILL' }))
    } else if (stage === 'running') {
      stage = 'asked'
      killGroup(group, 'SIGTERM')
      void timers.wait(termMs, stopping.signal).then(() => stop('at once'))
    }
  }

  return {
    stop,
    givenUp: givenUp.promise,
    isAsked: () => stage === 'asked',
    forget: () => stopping.abort(),
  }
}
