// A low-cost callback target in a process of its own: it reads only the needed parts of a request, and answers at once.
// It only counts calls to `/counted…`; of all others it keeps the time, the slot and the execution.
import { createServer, type Socket } from 'node:net'
import type { TakenCalls } from './timed-target.ts'

const answer =
  'HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 2\r\nkeep-alive: timeout=60\r\n\r\nok'
const blank = Buffer.alloc(0)
const headEnd = '\r\n\r\n'

let taken = nothing()

const server = createServer((socket) => {
  socket.setNoDelay(true)
  // A caller that was stopped in the middle of a call is no fault of ours.
  socket.on('error', () => socket.destroy())
  let rest: Buffer = blank
  socket.on('data', (chunk: Buffer) => {
    rest = readRequests(socket, rest.length === 0 ? chunk : Buffer.concat([rest, chunk]))
  })
})
server.listen(0, '127.0.0.1', () => process.send!({ port: (server.address() as { port: number }).port }))
process.on('message', () => {
  process.send!(taken)
  taken = nothing()
})
process.on('disconnect', () => process.exit(0))

/** Answers complete requests, and returns the bytes of an incomplete one. */
function readRequests(socket: Socket, bytes: Buffer): Buffer {
  let left = bytes
  while (left.length > 0) {
    const end = left.indexOf(headEnd)
    if (end < 0) break
    const head = left.subarray(0, end + 2)
    const size = end + headEnd.length + Number(headerOf(head, 'content-length') ?? 0)
    if (left.length < size) break
    keep(head)
    socket.write(answer)
    left = left.subarray(size)
  }
  return left
}

function keep(head: Buffer): void {
  if (head.indexOf(' /counted') === head.indexOf(' ')) {
    taken.counted += 1
    return
  }
  taken.atMs.push(Date.now())
  taken.monotonicMs.push(Number(process.hrtime.bigint()) / 1e6)
  taken.slotMs.push(Date.parse(headerOf(head, 'x-scheduled-time') ?? ''))
  taken.executionIds.push(headerOf(head, 'x-execution-id') ?? '')
}

/** Our client writes names in lower case. */
function headerOf(head: Buffer, name: string): string | null {
  const at = head.indexOf(`\r\n${name}: `)
  if (at < 0) return null
  const from = at + name.length + 4
  return head.toString('latin1', from, head.indexOf('\r\n', from))
}

function nothing(): TakenCalls {
  return { counted: 0, atMs: [], monotonicMs: [], slotMs: [], executionIds: [] }
}
