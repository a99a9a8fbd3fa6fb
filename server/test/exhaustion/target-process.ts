// The program of `startTarget`: a callback target in a process of its own, so that a flood of calls or answers slows down
// neither the test nor the other target. The path of a call says how it is answered.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { genuineAnswer, type TargetPath, type TargetReport } from './target.ts'

/** Held and hostile connections, by which an attack shows that it takes place. */
const held = new Set<Socket>()
const hostile = new Set<Socket>()
/** Connections whose call was answered with 204. */
const stray = new Set<Socket>()
const genuineMs = 150

let report = nothing()

const answers: Record<TargetPath, (request: IncomingMessage, response: ServerResponse) => void> = {
  '/victim': (request, response) => {
    note(request)
    response.end(genuineAnswer)
  },
  // Each call needs a new connection.
  '/victim-closes': (request, response) => {
    note(request)
    response.setHeader('connection', 'close').end(genuineAnswer)
  },
  // The genuine answer comes after forged ones on every connection that could take them.
  '/victim-slow': (request, response) => {
    note(request)
    for (const socket of stray) {
      if (!socket.writable) continue
      socket.write('HTTP/1.1 500 Forged\r\ncontent-length: 6\r\n\r\nforged')
      report.forged += 1
    }
    setTimeout(() => response.end(genuineAnswer), genuineMs)
  },
  // The end is reported with the token of the call, as a target does that takes longer than a connection may last.
  '/victim-later': (request, response) => {
    note(request)
    response.writeHead(202, { 'x-carillon-async': 'true' }).end()
    void complete(request)
  },
  '/counted': (_request, response) => response.end('ok'),
  '/fails': (_request, response) => response.writeHead(500).end(),
  '/stray': ({ socket }, response) => {
    keep(stray, socket)
    response.writeHead(204).end()
  },
  '/token': ({ headers }, response) => {
    report.tokens.push({
      url: String(headers['x-carillon-completion-url']),
      token: String(headers['x-carillon-token']),
    })
    response.writeHead(202, { 'x-carillon-async': 'true' }).end()
  },
  '/silent': ({ socket }) => keep(held, socket),
  '/interim': ({ socket }) => pump(socket, '', 'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(1_000)),
  '/extension': ({ socket }) =>
    pump(socket, 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1;extension=', 'x'.repeat(60_000)),
}

const ports = await Promise.all(Array.from({ length: Number(process.argv[2]) }, listen))
process.send!(ports)
process.on('message', () => {
  process.send!({ ...report, held: held.size, hostile: hostile.size } satisfies TargetReport)
  report = nothing()
})
process.on('disconnect', () => process.exit(0))

async function listen(): Promise<number> {
  const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
    const path = request.url as TargetPath
    report.calls[path] = (report.calls[path] ?? 0) + 1
    // The body is of no interest, and its end makes the connection ready for the next call.
    request.on('error', () => {}).resume()
    response.on('error', () => {})
    answers[path](request, response)
  })
  server.on('connection', (socket) => socket.on('error', () => {}))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', 4_096, resolve))
  return (server.address() as AddressInfo).port
}

function note({ headers }: IncomingMessage): void {
  report.arrivals.push({
    executionId: String(headers['x-execution-id']),
    attempt: Number(headers['x-attempt-number']),
    atMs: Date.now(),
  })
}

async function complete({ headers }: IncomingMessage): Promise<void> {
  const { status } = await fetch(String(headers['x-carillon-completion-url']), {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-carillon-token': String(headers['x-carillon-token']) },
    body: '{"status":"succeeded"}',
  })
  report.completions[status] = (report.completions[status] ?? 0) + 1
}

/** Sends without end, as fast as the other side takes it. */
function pump(socket: Socket, start: string, text: string): void {
  keep(hostile, socket)
  const more = () => {
    while (!socket.destroyed) {
      report.hostileBytes += text.length
      if (!socket.write(text)) return
    }
  }
  socket.on('drain', more)
  socket.write(start)
  more()
}

function keep(set: Set<Socket>, socket: Socket): void {
  if (set.has(socket)) return
  set.add(socket)
  socket.once('close', () => set.delete(socket))
}

function nothing(): TargetReport {
  return {
    arrivals: [],
    calls: {},
    completions: {},
    tokens: [],
    forged: 0,
    hostileBytes: 0,
    held: 0,
    hostile: 0,
  }
}
