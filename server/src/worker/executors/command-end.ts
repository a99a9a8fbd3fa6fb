// How the end of a command reads as the end of an attempt.
import { messageLengthMax } from '../../domain/queue/attempt.ts'
import type { ExecutorResult, LocalExecutor } from '../../ports/executor.ts'
import type { CommandEnd } from './command-process.ts'

export function wordOf(end: CommandEnd, preview: string | null): ExecutorResult {
  if (end.kind === 'exited' && end.code === 0) return { error: null, preview }
  return { error: { type: 'EXIT_CODE', message: describeEnd(end) }, preview }
}

/** A full disk, say: nothing that the job can be blamed for, and the next attempt may find it better. */
export function notStarted(error: unknown): ExecutorResult {
  const message = `It could not be started: ${(error as Error).message}`.slice(0, messageLengthMax)
  return { error: { type: 'EXIT_CODE', message }, preview: null }
}

/** For a server that runs no commands, and says why in each attempt. */
export function refusing(reason: string): LocalExecutor {
  const message = reason.slice(0, messageLengthMax)
  return { run: async () => ({ error: { type: 'TARGET_FORBIDDEN', message }, preview: null }) }
}

function describeEnd(end: CommandEnd): string {
  if (end.kind === 'exited') return `Exited with code ${end.code}`
  if (end.kind === 'killed' && end.by === 'SIGXFSZ')
    return 'Wrote a file larger than CARILLON_COMMANDS_FILE_MB'
  return end.kind === 'killed' ? `Killed by ${end.by}` : `It could not be started: ${end.reason}`
}
