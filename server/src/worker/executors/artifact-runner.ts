// Runs in the child process of a single attempt: imports a file of the bundle and calls its function. Messages to the
// worker go out on a separate descriptor, one line of JSON each, so that stdout and stderr belong to the bundle alone.
import { writeSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { pathToFileURL } from 'node:url'
import { formatValue, formatValues } from '../../../../sdk/src/format-values.ts'

export interface RunnerCall {
  payload: unknown
  executionId: string
  jobId: string
  jobName: string
  attempt: number
  idempotencyKey: string
  scheduledTime: string
  /** Absent: there is none. */
  checkpoint?: unknown
  /** Null: it runs alone. */
  graphRunId: string | null
  /** The parents in the graph run, in the form that an SDK handler receives. */
  parents: readonly {
    jobId: string
    jobKey: string | null
    executionId: string | null
    status: string
    result?: unknown
  }[]
}

export type RunnerWord =
  | { note: { progress?: number; message?: string; checkpoint?: unknown } }
  | { log: readonly [level: string, message: string] }
  /** JSON, its head; null: it returned nothing. */
  | { result: string | null }
  | { error: { isFinal: boolean; message: string; stack: string; retryAfterMs?: number } }

const descriptor = 4
const resultLengthMax = 4_096
const messageLengthMax = 8_192
const finalName = 'NonRetriableError'
/** As the SDK marks its errors, see sdk/src/job-errors.ts. */
const finalMark = Symbol.for('carillon.error.final')
const retryAfterMark = Symbol.for('carillon.error.retryAfterMs')

const [file, name] = process.argv.slice(2) as [string, string]
// Nothing of the bundle has run yet, so the input is ours alone.
const { payload, ...call } = JSON.parse(await text(process.stdin)) as RunnerCall

const say = (word: RunnerWord) => void writeSync(descriptor, `${JSON.stringify(word)}\n`)
const log =
  (level: string) =>
  (...values: unknown[]) =>
    say({ log: [level, formatValues(values).slice(0, messageLengthMax)] })

const context = {
  ...call,
  progress: (progress: number, message?: string) =>
    say({ note: message === undefined ? { progress } : { progress, message } }),
  saveCheckpoint: (checkpoint: unknown) => say({ note: { checkpoint } }),
  heartbeat: () => say({ note: {} }),
  log: { debug: log('debug'), info: log('info'), warn: log('warn'), error: log('error') },
}

try {
  const bundle = (await import(pathToFileURL(file).href)) as Record<string, unknown>
  const run = bundle[name] ?? (bundle['default'] as Record<string, unknown> | undefined)?.[name]
  if (typeof run !== 'function') throw finalError(`The file exports no function ${name}.`)
  const result: unknown = await run(payload, context)
  say({ result: JSON.stringify(result)?.slice(0, resultLengthMax) ?? null })
} catch (error) {
  say({ error: describe(error) })
}
// The bundle's timers and connections must not keep a finished attempt alive; its printed output is flushed first.
process.stdout.write('', () => process.stderr.write('', () => process.exit(0)))

/** Any error by this name says that trying again is no use: a bundle need not bring the SDK for it. */
function finalError(message: string): Error {
  return Object.assign(new Error(message), { name: finalName })
}

interface Marked extends Error {
  [finalMark]?: unknown
  [retryAfterMark]?: unknown
}

function describe(thrown: unknown): Extract<RunnerWord, { error: unknown }>['error'] {
  const error = thrown instanceof Error ? thrown : new Error(formatValue(thrown))
  const {
    name: kind,
    message,
    stack = '',
    [finalMark]: isFinal,
    [retryAfterMark]: retryAfterMs,
  } = error as Marked
  return {
    isFinal: isFinal === true || kind === finalName,
    message: message.slice(0, messageLengthMax),
    stack: stack.slice(0, messageLengthMax),
    ...(typeof retryAfterMs === 'number' && { retryAfterMs }),
  }
}
