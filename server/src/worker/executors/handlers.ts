// Runs handlers of the user's own file inside our worker (`carillon start --handlers FILE`): jobs made by defineJob of
// the SDK, run by the SDK's own code, so that a job behaves the same here and in a worker of the user's own.
import { access } from 'node:fs/promises'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
// By its path and not by a package name: the SDK's test kit is built on our schedule engine, and two packages that depend on
// each other could not be installed one by one.
import { createClient } from '../../../../sdk/src/client.ts'
import { type AnyJob, isDefinedJob } from '../../../../sdk/src/define-job.ts'
import { putJobs } from '../../../../sdk/src/put-jobs.ts'
import { type JobEnd, runJob } from '../../../../sdk/src/run-job.ts'
import { messageLengthMax } from '../../domain/queue/attempt.ts'
import { handlersMax } from '../../domain/queue/worker.ts'
import { OperatingError } from '../../lib/operating-error.ts'
import type { CallContext, ExecutorResult, LocalCall, LocalExecutor } from '../../ports/executor.ts'
import { cutPreview } from './command-output.ts'

export interface LoadedHandlers {
  names: string[]
  executor: LocalExecutor
  /** As the file defines them. */
  jobs: readonly AnyJob[]
}

/** Imports the file; a problem with it is reported in one sentence. */
export async function loadHandlers(file: string): Promise<LoadedHandlers> {
  const jobs = listJobs(file, await importFile(file))
  const byName = new Map(jobs.map((job) => [job.key, job]))
  return {
    names: [...byName.keys()],
    jobs,
    executor: { run: (call, context) => run(byName, call, context) },
  }
}

/** Puts the jobs that have a schedule into the API, as a worker of the user's own does. Returns job ids by key. */
export function putHandlerJobs(
  jobs: readonly AnyJob[],
  api: { url: string; key: string },
): Promise<Map<string, string>> {
  return putJobs(createClient(api), jobs)
}

async function importFile(file: string): Promise<Record<string, unknown>> {
  const path = resolve(file)
  try {
    await access(path)
  } catch (cause) {
    throw new OperatingError(`There is no file ${path} to take handlers from.`, { cause })
  }
  try {
    return (await import(pathToFileURL(path).href)) as Record<string, unknown>
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new OperatingError(`The handlers in ${path} could not be loaded: ${reason}`, { cause })
  }
}

function listJobs(file: string, exported: Record<string, unknown>): AnyJob[] {
  const { default: main, ...named } = exported
  const found = [...new Set([...(Array.isArray(main) ? main : [main]), ...Object.values(named)])].filter(
    isDefinedJob,
  )
  if (found.length === 0) {
    throw new OperatingError(
      `${file} exports nothing that defineJob made. Export each job, or an array of them as default.`,
    )
  }
  if (found.length > handlersMax) {
    throw new OperatingError(`${file} exports ${found.length} jobs; ${handlersMax} at most.`)
  }
  const keys = new Set<string>()
  for (const { key } of found) {
    if (keys.has(key)) throw new OperatingError(`${file} exports two jobs with the key ${key}.`)
    keys.add(key)
  }
  return found
}

async function run(
  jobs: ReadonlyMap<string, AnyJob>,
  call: LocalCall,
  context: CallContext,
): Promise<ExecutorResult> {
  const { execution } = call
  const job = execution.type === 'worker' ? jobs.get(execution.handler) : undefined
  // A worker claims only for its registered handlers, but the file may have been different when the last process died.
  if (job === undefined) {
    return { error: { type: 'HANDLER_ERROR', message: 'This worker has no such handler.' }, preview: null }
  }
  const { executionId, jobId, attempt, slot, idempotencyKey, payload, checkpoint, runId, parents } = call
  const end = await runJob(
    job,
    {
      executionId,
      jobId,
      attempt,
      scheduledTime: slot,
      idempotencyKey,
      payload: payload === null ? undefined : JSON.parse(payload),
      checkpoint,
      graphRunId: runId,
      parents,
    },
    {
      signal: context.signal,
      log: (level, message) => context.log(level, message),
      note: (said) => context.note(said),
      // The worker keeps the checkpoint safe from its handler, but not from the death of this process: it is written
      // within a second.
      saveCheckpoint: async (json) => context.note({ checkpoint: JSON.parse(json) }),
    },
  )
  return toWord(end)
}

function toWord(end: JobEnd): ExecutorResult {
  if (end.kind === 'succeeded') {
    return { error: null, preview: end.result === null ? null : cutPreview(end.result) }
  }
  const { message, isFinal, retryAfterMs } = end
  return {
    error: { type: 'HANDLER_ERROR', message: message.slice(0, messageLengthMax) },
    preview: null,
    ...(isFinal && { isFinal }),
    ...(retryAfterMs !== null && { retryAfterMs }),
  }
}
