// The files that a run leaves for the checker: one JSON object a line, only ever appended to. A line is in the file
// before its writer goes on, so that a killed process leaves everything it knew. All times are milliseconds since 1970
// by the real clock of the host.
import { closeSync, existsSync, openSync, readFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'

export const FILES = {
  receiver: 'receiver.jsonl',
  history: 'history.jsonl',
  faults: 'faults.jsonl',
  watch: 'watch.jsonl',
} as const

/** ok: it was answered, and is done. fail: it was refused, and is not. info: nobody knows, and both are right. */
export type Ending = 'ok' | 'fail' | 'info'

/** Before an operation is sent, and after its answer came or did not. */
export type HistoryLine =
  | { what: 'sent'; op: number; at: number; call: SentCall }
  | { what: 'answered'; op: number; at: number; ending: Ending; status: number | null; answer: unknown }

export interface SentCall {
  /** Such as `create`, `trigger`, `pause`. */
  name: string
  method: string
  path: string
  body?: unknown
  /** If-Match. */
  version?: number
  key?: string
  /** The operation that this one says again, word for word. */
  again?: number
  api: string
}

/** An event that the receiver saw. */
export type ReceiverLine =
  | { what: 'arrived'; seq: number; at: number; call: SeenCall }
  /** `status` null: the connection was cut instead of an answer. */
  | { what: 'answered'; seq: number; at: number; status: number | null }
  /** The caller hung up before the answer. */
  | { what: 'gone'; seq: number; at: number }
  | SaidLine

/** A later report of the attempt by a target that had answered 202. */
export interface SaidLine {
  what: 'said'
  /** Of its call. */
  seq: number
  at: number
  status: 'succeeded' | 'failed'
  /** The status that came back; null: none, however often the report was sent. */
  answer: number | null
  answeredAt: number | null
}

export interface SeenCall {
  path: string
  executionId: string
  attempt: number
  key: string
  jobId: string
  scheduledTime: string
  bodyHash: string
  traceparent: string
}

/** Written by the rig. */
export interface FaultLine {
  at: number
  kind: string
  target: string
  /** When it was over; null: it is done once, as a kill. */
  until: number | null
  details: Readonly<Record<string, unknown>>
}

/** Written by the rig whenever something of it has changed. */
export interface WatchLine {
  at: number
  /** The scheduler of each partition, by its number; null: nobody's. */
  holders: readonly (string | null)[]
  schedulers: readonly string[]
  workers: readonly string[]
}

export class LineWriter {
  readonly #file: number

  constructor(path: string) {
    this.#file = openSync(path, 'a')
  }

  /** Returns when the line is in the file. */
  write(line: object): void {
    writeSync(this.#file, `${JSON.stringify(line)}\n`)
  }

  close(): void {
    closeSync(this.#file)
  }
}

/** A last line that its writer could not end is no line. */
export function readLines<T>(dir: string, name: keyof typeof FILES): T[] {
  const path = join(dir, FILES[name])
  if (!existsSync(path)) return []
  const parts = readFileSync(path, 'utf8').split('\n')
  parts.pop()
  return parts.map((text) => JSON.parse(text) as T)
}
