// The data of `carillon top`, second by second: from the server's event stream, or by polling when there is none.
import type { EventData } from '@carillon/contract/event.ts'
import type { FailureList } from '@carillon/contract/failure.ts'
import type { Client } from '@carillon/sdk'
import type { Connection } from './connection.ts'
import { CliError, EXIT } from './exit-code.ts'
import { readEvents } from './sse.ts'
import { wait } from './wait.ts'
import { hasEnded } from './wait-execution.ts'

/** One second of the server, or as much as lies between two questions. */
export interface Pulse {
  /** Epoch. */
  atMs: number
  seconds: number
  started: number
  succeeded: number
  /** Timed out included. */
  failed: number
  running: number
  waiting: number
  /** The count stopped there; there may be more. */
  capped: boolean
}

/** An execution as the event stream tells it. */
export type Seen = EventData['executions']['items'][number]

export interface Failing {
  jobName: string
  errorType: string
  count: number
  lastMs: number
}

export type TopEvent =
  | { kind: 'pulse'; pulse: Pulse }
  | { kind: 'executions'; items: Seen[] }
  | { kind: 'source'; source: 'stream' | 'poll' | 'lost' }

const againMs = 1_000
const pollMs = 2_000
const pollPage = 100
const failuresMax = 20

export async function* readTop(connection: Connection, signal: AbortSignal): AsyncGenerator<TopEvent> {
  let lastId: string | null = null
  let hasBegun = false
  for (;;) {
    const answer = await openStream(connection, lastId, signal)
    if (answer === 'none') break
    if (answer !== 'away') {
      yield { kind: 'source', source: 'stream' }
      // The stream only has events from now on; a screen should not begin empty.
      if (!hasBegun) yield { kind: 'executions', items: await readNewest(connection.client, signal) }
      hasBegun = true
      try {
        for await (const { id, name, data } of readEvents(answer.body)) {
          lastId = id ?? lastId
          if (name === 'pulse') yield { kind: 'pulse', pulse: toPulse(data as EventData['pulse']) }
          if (name === 'executions')
            yield { kind: 'executions', items: (data as EventData['executions']).items }
        }
      } catch {
        signal.throwIfAborted()
      }
    }
    yield { kind: 'source', source: 'lost' }
    await wait(againMs, signal)
  }
  yield { kind: 'source', source: 'poll' }
  yield* poll(connection.client, signal)
}

/** A stream that somebody will read: `fetch` cancels the body of a Response that is garbage before it was read from. */
type EventStream = Response & { body: AsyncIterable<Uint8Array> }

/** none: this server has no stream, or no room in it. */
async function openStream(
  { url, headers }: Connection,
  lastId: string | null,
  signal: AbortSignal,
): Promise<EventStream | 'none' | 'away'> {
  let answer: Response
  try {
    answer = await fetch(new URL('/api/v1/events', url), {
      headers: {
        ...headers,
        accept: 'text/event-stream',
        ...(lastId === null ? {} : { 'last-event-id': lastId }),
      },
      signal,
    })
  } catch {
    signal.throwIfAborted()
    return 'away'
  }
  if (answer.status === 401 || answer.status === 403)
    throw new CliError(EXIT.auth, `the key lacks the scope read here (${answer.status}).`)
  if ([404, 405, 406, 429].includes(answer.status)) return 'none'
  return answer.ok && answer.body !== null ? (answer as EventStream) : 'away'
}

function toPulse(pulse: EventData['pulse']): Pulse {
  const { started, succeeded, failed, timed_out: timedOut, running, waiting } = pulse
  const counts = { started, succeeded, failed: failed + timedOut, running, waiting }
  return { atMs: Date.parse(pulse.as_of), seconds: 1, capped: false, ...counts }
}

/** Polls the newest executions: one that was not there before has started, one that had not ended before has ended. */
async function* poll(client: Client, signal: AbortSignal): AsyncGenerator<TopEvent> {
  let known: Map<string, string> | null = null
  let lastMs = Date.now()
  for (;;) {
    const [items, running, waiting] = await Promise.all([
      readNewest(client, signal),
      client.executions.list({ limit: 1, status: 'RUNNING' }, { signal }).page(),
      client.executions.list({ limit: 1, status: 'PENDING' }, { signal }).page(),
    ])
    const before: ReadonlyMap<string, string> | null = known
    const fresh = before === null ? [] : items.filter((one) => before.get(one.execution_id) !== one.status)
    const count = (judge: (one: Seen) => boolean) => fresh.filter(judge).length
    const nowMs = Date.now()
    yield { kind: 'executions', items: before === null ? items : fresh }
    yield {
      kind: 'pulse',
      pulse: {
        atMs: nowMs,
        seconds: Math.max(1, (nowMs - lastMs) / 1_000),
        started: count((one) => one.started_at !== null && !isUnderWay(before?.get(one.execution_id))),
        succeeded: count((one) => one.status === 'SUCCEEDED'),
        failed: count((one) => one.status === 'FAILED' || one.status === 'TIMED_OUT'),
        running: running.pagination.total,
        waiting: waiting.pagination.total,
        capped: running.pagination.total_capped || waiting.pagination.total_capped,
      },
    }
    known = new Map(items.map(({ execution_id: id, status }) => [id, status]))
    lastMs = nowMs
    await wait(pollMs, signal)
  }
}

/** Failures within the last hour, most frequent first; null: this server does not report them. */
export async function readFailures(
  { url, headers }: Connection,
  signal: AbortSignal,
): Promise<Failing[] | null> {
  const address = new URL(`/api/v1/failures?minutes=60&limit=${failuresMax}`, url)
  const answer = await fetch(address, { headers, signal })
  if (!answer.ok) return null
  const { failures } = (await answer.json()) as FailureList
  return failures.map(({ job_name: jobName, error_type: type, count, last_seen_at: at }) => ({
    jobName,
    errorType: type ?? '',
    count,
    lastMs: Date.parse(at),
  }))
}

/** Oldest first. */
async function readNewest(client: Client, signal: AbortSignal): Promise<Seen[]> {
  const { executions } = await client.executions.list({ limit: pollPage }, { signal }).page()
  return executions.map((one) => ({ ...one, error_type: one.error?.type ?? null })).toReversed()
}

function isUnderWay(status: string | undefined): boolean {
  return status !== undefined && !hasEnded(status) && status !== 'PENDING'
}
