// The shell executor: runs programs that the operator has listed, and no others. Nothing of a job is read as shell:
// arguments reach the program as they are.
import { constants } from 'node:fs'
import { access, realpath } from 'node:fs/promises'
import type { ShellCommand } from '../../domain/executors/kind.ts'
import type { ShellExecution } from '../../domain/executors/shell.ts'
import type { CallContext, ExecutorResult, LocalCall, LocalExecutor } from '../../ports/executor.ts'
import { notStarted, wordOf } from './command-end.ts'
import { CommandWords, environmentOf } from './command-output.ts'
import { startCommand } from './command-process.ts'
import type { LocalExecutorDeps } from './list.ts'
import { type DirectoryDeps, withDirectory } from './own-directory.ts'

export function createExecutor({ timers, settings, place }: LocalExecutorDeps): LocalExecutor {
  return createShellExecutor({ timers, ...place! }, settings.shellCommands)
}

export function createShellExecutor(deps: DirectoryDeps, allowed: readonly ShellCommand[]): LocalExecutor {
  return {
    async run(call, context) {
      try {
        const found = await findAllowed(call.execution as ShellExecution, allowed)
        if ('error' in found) return found
        const { file } = found
        return await withDirectory(deps, (directory) => runIn(deps, { call, context, directory, file }))
      } catch (error) {
        return notStarted(error)
      }
    },
  }
}

async function runIn(
  deps: DirectoryDeps,
  {
    call,
    context,
    directory,
    file,
  }: { call: LocalCall; context: CallContext; directory: string; file: string },
): Promise<ExecutorResult> {
  const { args, env } = call.execution as ShellExecution
  const words = new CommandWords(context)
  if (context.signal.aborted) return { error: null, preview: null }
  const running = startCommand(deps, {
    file,
    args,
    directory,
    env: { ...env, ...environmentOf(call, { home: directory, variables: deps.variables }) },
    stdin: call.payload ?? '',
    cpuSeconds: null,
    hasWords: false,
    onUsed: (cpuMs) => context.used(cpuMs),
    onLine: (from, line) => words.take(from as 'stdout' | 'stderr', line),
  })
  const stop = () => running.stop('gently')
  context.signal.addEventListener('abort', stop)
  const end = await running.ended
  context.signal.removeEventListener('abort', stop)
  return wordOf(end, words.preview())
}

async function findAllowed(
  { command, env }: ShellExecution,
  allowed: readonly ShellCommand[],
): Promise<{ file: string } | ExecutorResult> {
  const wanted = await realpath(command).catch(() => null)
  for (const entry of allowed) {
    const { path } = entry
    // The path on the allowlist is run, not the job's: a program with many names acts according to its name.
    const isSame = wanted === null ? path === command : (await realpath(path).catch(() => null)) === wanted
    if (isSame) return refuseVariable(entry, env) ?? mayRun(path)
  }
  return forbidden(`/execution/command: CARILLON_SHELL_COMMANDS does not allow ${command}.`)
}

/** A variable can make a program, or a program that it starts, run other code: no list of such names is complete. */
function refuseVariable(entry: ShellCommand, env: ShellExecution['env']): ExecutorResult | null {
  const name = Object.keys(env).find((one) => !entry.env.includes(one))
  if (name === undefined) return null
  return forbidden(
    `/execution/env: CARILLON_SHELL_COMMANDS does not allow ${name} for this program; ${entry.path}?env=${name} would.`,
  )
}

async function mayRun(file: string): Promise<{ file: string } | ExecutorResult> {
  try {
    await access(file, constants.X_OK)
    return { file }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    const message = `${file} could not be started: ${code}.`
    return { error: { type: 'EXIT_CODE', message }, preview: null, isFinal: true }
  }
}

function forbidden(message: string): ExecutorResult {
  return { error: { type: 'TARGET_FORBIDDEN', message: message.slice(0, 1_000) }, preview: null }
}
