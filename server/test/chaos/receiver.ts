// The callback target of a run, a process of its own that no fault strikes: node receiver.ts DIR PORT. It logs every
// call before it answers it, by its own clock and count, and then the answer. Prints its address.
import { hash } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { realTimers } from '../../src/lib/time/timers.ts'
import { FILES, LineWriter, type ReceiverLine, type SeenCall } from './history.ts'
import { type Answer, answerTo } from './receiver-answers.ts'

/** A word is said this often until it is answered; an API may be away for a minute. */
const saysMax = 60
const saysEveryMs = 1_500
const saysWaitMs = 5_000

export interface RunningReceiver extends AsyncDisposable {
  url: string
}

export async function startReceiver(dir: string, port: number): Promise<RunningReceiver> {
  const log = new LineWriter(join(dir, FILES.receiver))
  const write = (line: ReceiverLine) => log.write(line)
  const stopping = new AbortController()
  let calls = 0
  const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
    request.on('error', () => {})
    response.on('error', () => {})
    readBody(request, (body) => {
      const seq = ++calls
      const url = new URL(request.url!, 'http://receiver')
      const call = toCall(request, url, body)
      write({ what: 'arrived', seq, at: Date.now(), call })
      const ms = Number(url.searchParams.get('ms') ?? 0)
      const answer = answerTo(url.pathname.slice(1), { ...call, ms })
      void reply({ seq, write, request, response, stop: stopping.signal }, answer)
      for (const word of answer?.says ?? [])
        void say(
          { seq, write, stop: stopping.signal, urls: completionUrls(request, url, call) },
          request,
          word,
        )
    })
  })
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      stopping.abort()
      const closed = new Promise((resolve) => server.close(resolve))
      server.closeAllConnections()
      await closed
      log.close()
    },
  }
}

function readBody(request: IncomingMessage, then: (body: Buffer) => void): void {
  const parts: Buffer[] = []
  request.on('data', (part: Buffer) => parts.push(part))
  request.on('end', () => then(Buffer.concat(parts)))
}

function toCall({ headers }: IncomingMessage, url: URL, body: Buffer): SeenCall {
  const text = (name: string) => String(headers[name] ?? '')
  return {
    path: url.pathname,
    executionId: text('x-execution-id'),
    attempt: Number(headers['x-attempt-number'] ?? 0),
    key: text('x-idempotency-key'),
    jobId: text('x-job-id'),
    scheduledTime: text('x-scheduled-time'),
    bodyHash: hash('sha256', body).slice(0, 16),
    traceparent: text('traceparent'),
  }
}

interface Reply {
  seq: number
  write: (line: ReceiverLine) => void
  request: IncomingMessage
  response: ServerResponse
  stop: AbortSignal
}

async function reply({ seq, write, request, response, stop }: Reply, answer: Answer | null): Promise<void> {
  const left = new AbortController()
  response.on('close', () => {
    if (!response.writableFinished && !left.signal.aborted && !stop.aborted)
      write({ what: 'gone', seq, at: Date.now() })
    left.abort()
  })
  const { afterMs, status, headers = {} } = answer ?? { afterMs: 0, status: 410 }
  if (status === 'never') return
  if (afterMs > 0) await realTimers.wait(afterMs, AbortSignal.any([left.signal, stop]))
  if (left.signal.aborted || stop.aborted) return
  write({ what: 'answered', seq, at: Date.now(), status })
  if (status === null) {
    left.abort()
    request.socket.resetAndDestroy()
    return
  }
  response.writeHead(status, { 'content-type': 'application/json', ...headers })
  response.end(JSON.stringify({ seq }))
}

interface Saying extends Pick<Reply, 'seq' | 'write' | 'stop'> {
  urls: readonly string[]
}

/** Until it is answered: an API may be away, and any answer may be lost. */
async function say(
  { seq, write, stop, urls }: Saying,
  { headers }: IncomingMessage,
  { afterMs, status }: NonNullable<Answer['says']>[number],
): Promise<void> {
  await realTimers.wait(afterMs, stop)
  const at = Date.now()
  const body = status === 'succeeded' ? { status } : { status, error: { message: 'it did not go well' } }
  for (let said = 0; said < saysMax && !stop.aborted && urls.length > 0; said++) {
    const answer = await post(urls[said % urls.length]!, String(headers['x-carillon-token']), body)
    if (answer !== null && answer < 500 && answer !== 429) {
      write({ what: 'said', seq, at, status, answer, answeredAt: Date.now() })
      return
    }
    await realTimers.wait(saysEveryMs, stop)
  }
  write({ what: 'said', seq, at, status, answer: null, answeredAt: null })
}

async function post(url: string, token: string, body: object): Promise<number | null> {
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(saysWaitMs),
    })
    await response.arrayBuffer()
    return response.status
  } catch {
    return null
  }
}

/** Where to say it: each API that the job's url names, so that one may be away. */
function completionUrls({ headers }: IncomingMessage, url: URL, { executionId }: SeenCall): string[] {
  const named = url.searchParams
    .getAll('api')
    .map((api) => `${api}/api/v1/executions/${executionId}/complete`)
  const given = headers['x-carillon-completion-url']
  return named.length > 0 || given === undefined ? named : [String(given)]
}

if (import.meta.main) {
  const [dir, port = '0'] = process.argv.slice(2)
  if (dir === undefined) throw new Error('node receiver.ts DIR PORT')
  const receiver = await startReceiver(dir, Number(port))
  const stop = () => void receiver[Symbol.asyncDispose]().then(() => process.exit(0))
  process.once('SIGTERM', stop)
  process.once('SIGINT', stop)
  process.stdout.write(`${receiver.url}\n`)
}
