// The artifact executor: runs code out of a bundle in a child process with limits: a function of a file, by our own Node,
// or an executable.
import { constants } from 'node:fs'
import { access, realpath, stat } from 'node:fs/promises'
import { join, sep } from 'node:path'
import type { ArtifactExecution } from '../../domain/executors/artifact.ts'
import { messageLengthMax } from '../../domain/queue/attempt.ts'
import { findClosed, type SystemUser } from '../../lib/system-users.ts'
import { TarError } from '../../lib/tar/read-tar.ts'
import { toRfc3339 } from '../../lib/time/epoch.ts'
import type { CallContext, ExecutorResult, LocalCall, LocalExecutor } from '../../ports/executor.ts'
import type { RunnerCall } from './artifact-runner.ts'
import { BundleCache } from './bundle-cache.ts'
import { notStarted, wordOf } from './command-end.ts'
import { CommandWords, environmentOf } from './command-output.ts'
import { type Command, type CommandEnd, startCommand } from './command-process.ts'
import { type BundleSource, findBundle, NoBundle } from './find-bundle.ts'
import { type Breach, GroupWatch } from './group-watch.ts'
import type { LocalExecutorDeps } from './list.ts'
import { type DirectoryDeps, withDirectory } from './own-directory.ts'
import { RunnerWords } from './runner-messages.ts'

export interface ArtifactDeps extends DirectoryDeps, BundleSource {
  bundles: BundleCache
  watch: GroupWatch
}

export interface ArtifactLimits {
  cpuSeconds: number
  memoryMb: number
}

interface Attempt {
  call: LocalCall
  context: CallContext
  limits: ArtifactLimits
  bundle: string
  directory: string
}

const runner = join(import.meta.dirname, 'artifact-runner.ts')

export function createExecutor(deps: LocalExecutorDeps): LocalExecutor {
  const { clock, timers, artifacts, settings, place } = deps
  const { dataDir, artifactsDir, artifactCpuSeconds: cpuSeconds, artifactMemoryMb: memoryMb } = settings
  const isForOther = place!.user !== null
  const bundles = new BundleCache(clock, { directory: join(dataDir, 'artifacts'), isForOther })
  const source = { artifacts, artifactsDir, bundles, watch: new GroupWatch(timers) }
  return createArtifactExecutor({ timers, ...place!, ...source }, { cpuSeconds, memoryMb })
}

export function createArtifactExecutor(deps: ArtifactDeps, limits: ArtifactLimits): LocalExecutor {
  return {
    async run(call, context) {
      try {
        const { sha256, fetch } = await findBundle(deps, call.tenantId, call.execution as ArtifactExecution)
        return await deps.bundles.use(sha256, fetch, (bundle) =>
          withDirectory(deps, (directory) => runEntry(deps, { call, context, limits, bundle, directory })),
        )
      } catch (error) {
        return refusalOf(error)
      }
    },
  }
}

async function runEntry(deps: ArtifactDeps, attempt: Attempt): Promise<ExecutorResult> {
  const { call, context, bundle, limits } = attempt
  await checkOpen(deps.user, bundle)
  const { entrypoint } = call.execution as ArtifactExecution
  const [, file, name] = /^([^:]+):([A-Za-z_$][\w$]*)$/.exec(entrypoint) ?? []
  const words = new CommandWords(context)
  if (file === undefined) {
    const executable = await findIn(bundle, [entrypoint])
    await access(executable, constants.X_OK).catch(() => {
      throw new NoBundle(`/execution/entrypoint: ${entrypoint} is not an executable.`)
    })
    const command = { file: executable, args: [], stdin: call.payload ?? '', hasWords: false }
    const end = await runLimited(deps, attempt, words, {
      ...command,
      onLine: (from, line) => words.take(from as 'stdout' | 'stderr', line),
    })
    return 'error' in end ? end : wordOf(end, words.preview())
  }
  const module = await findIn(bundle, [
    file,
    ...['.js', '.mjs', '.cjs', '.ts', '.mts'].map((ending) => file + ending),
  ])
  await checkOpen(deps.user, runner)
  await checkOpen(deps.user, process.execPath)
  const said = new RunnerWords(words)
  const end = await runLimited(deps, attempt, words, {
    file: process.execPath,
    args: [
      `--max-old-space-size=${limits.memoryMb}`,
      '--disable-warning=ExperimentalWarning',
      runner,
      module,
      name!,
    ],
    stdin: JSON.stringify(toRunnerCall(call)),
    hasWords: true,
    onLine: (from, line) => (from === 'words' ? said.take(line) : words.take(from, line)),
  })
  return 'error' in end ? end : said.wordOf(end)
}

/** Runs the command and returns its end, or the result for the limit that it exceeded. */
async function runLimited(
  deps: ArtifactDeps,
  { call, context, limits, directory }: Attempt,
  words: CommandWords,
  command: Pick<Command, 'file' | 'args' | 'stdin' | 'hasWords' | 'onLine'>,
): Promise<CommandEnd | ExecutorResult> {
  if (context.signal.aborted) return { error: null, preview: null }
  const { cpuSeconds, memoryMb } = limits
  let breach: Breach | null = null
  const running = startCommand(deps, {
    ...command,
    directory,
    env: environmentOf(call, { home: directory, variables: deps.variables }),
    cpuSeconds,
    onUsed: (cpuMs) => context.used(cpuMs),
    onLine(from, line) {
      // The message V8 prints before it gives up.
      if (from === 'stderr' && line.includes('JavaScript heap out of memory')) breach ??= 'memory'
      command.onLine(from, line)
    },
  })
  const stop = () => running.stop('gently')
  context.signal.addEventListener('abort', stop)
  const bounds = { memoryBytesMax: memoryMb * 2 ** 20, cpuSecondsMax: cpuSeconds }
  using _watched = deps.watch.add(running.group ?? 0, bounds, (found) => {
    breach ??= found
    running.stop('at once')
  })
  const end = await running.ended
  context.signal.removeEventListener('abort', stop)
  // A command with a child that SIGXCPU stopped exits with 128 plus the number of the signal.
  const isCpu = (end.kind === 'killed' && end.by === 'SIGXCPU') || (end.kind === 'exited' && end.code === 152)
  const over = isCpu ? 'cpu' : end.kind === 'killed' ? breach : null
  if (over === null) return end
  const message =
    over === 'cpu'
      ? `Used more than ${cpuSeconds} s of CPU time (CARILLON_ARTIFACT_CPU_SECONDS)`
      : `Used more than ${memoryMb} MB of memory (CARILLON_ARTIFACT_MEMORY_MB)`
  return { error: { type: 'EXIT_CODE', message }, preview: words.preview() }
}

/** Another attempt is of use once the operator has opened it. */
async function checkOpen(user: SystemUser | null, path: string): Promise<void> {
  if (user === null) return
  const closed = await findClosed(await realpath(path), user)
  if (closed !== null) throw new Error(`the user of CARILLON_COMMANDS_USER may not open ${closed}`)
}

/** The first of the paths that is a file of the bundle. */
async function findIn(bundle: string, paths: readonly string[]): Promise<string> {
  const root = await realpath(bundle)
  for (const path of paths) {
    const found = await realpath(join(root, path)).catch(() => null)
    if (found?.startsWith(root + sep) && (await stat(found)).isFile()) return found
  }
  throw new NoBundle(`/execution/entrypoint: there is no file ${paths[0]} in the bundle.`)
}

function toRunnerCall(call: LocalCall): RunnerCall {
  const { payload, executionId, jobId, jobName, attempt, idempotencyKey, slot, runId, parents } = call
  return {
    payload: payload === null ? null : JSON.parse(payload),
    executionId,
    jobId,
    jobName,
    attempt,
    idempotencyKey,
    scheduledTime: toRfc3339(slot),
    ...('checkpoint' in call && { checkpoint: call.checkpoint }),
    graphRunId: runId,
    parents,
  }
}

/** An error caused by the job or its bundle is final: a retry would fail in the same way. */
function refusalOf(error: unknown): ExecutorResult {
  const isTar = error instanceof TarError
  if (!isTar && !(error instanceof NoBundle)) return notStarted(error)
  const message = (isTar ? `The bundle ${error.message}.` : error.message).slice(0, messageLengthMax)
  return { error: { type: 'EXIT_CODE', message }, preview: null, isFinal: true }
}
