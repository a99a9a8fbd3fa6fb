// The shell executor: runs programs that the operator has listed, and no others. Nothing of a job is read as shell:
// arguments reach the program as they are.
import { constants } from 'node:fs'
import { access, realpath } from 'node:fs/promises'
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

export function createShellExecutor(deps: DirectoryDeps, allowed: readonly string[]): LocalExecutor {
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
    onLine: (from, line) => words.take(from as 'stdout' | 'stderr', line),
  })
  const stop = () => running.stop('gently')
  context.signal.addEventListener('abort', stop)
  const end = await running.ended
  context.signal.removeEventListener('abort', stop)
  return wordOf(end, words.preview())
}

/**
 * Variables that make a loader, a shell or an interpreter run other code than the program: with them a job could run
 * code that the allowlist does not allow. PATH and HOME are ours to set.
 */
const forbiddenVariables =
  /^(LD_.*|DYLD_.*|GLIBC_TUNABLES|GCONV_PATH|PATH|HOME|IFS|ENV|BASH_.*|SHELLOPTS|BASHOPTS|PS4|PROMPT_COMMAND|PYTHON.*|PERL.*|RUBY.*|NODE_OPTIONS|NODE_PATH|JAVA_TOOL_OPTIONS|_JAVA_OPTIONS|JDK_JAVA_OPTIONS)$/

async function findAllowed(
  { command, env }: ShellExecution,
  allowed: readonly string[],
): Promise<{ file: string } | ExecutorResult> {
  const variable = Object.keys(env).find((name) => forbiddenVariables.test(name))
  if (variable !== undefined) {
    return forbidden(
      `/execution/env: ${variable} may not be set by a job; it can make a program run other code.`,
    )
  }
  const wanted = await realpath(command).catch(() => null)
  for (const entry of allowed) {
    // The path on the allowlist is run, not the job's: a program with many names acts according to its name.
    const isSame = wanted === null ? entry === command : (await realpath(entry).catch(() => null)) === wanted
    if (isSame) return mayRun(entry)
  }
  return forbidden(`/execution/command: CARILLON_SHELL_COMMANDS does not allow ${command}.`)
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
