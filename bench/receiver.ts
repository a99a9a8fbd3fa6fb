// A callback target in a process of its own: answers at once and keeps when each call came and for which slot.
import { createServer } from 'node:http'

interface Arrival {
  atMs: number
  slotMs: number
  executionId: string
}

let arrivals: Arrival[] = []
const now = () => performance.timeOrigin + performance.now()

const server = createServer((request, response) => {
  const atMs = now()
  if (request.method === 'GET') {
    const taken = arrivals
    arrivals = []
    response.end(JSON.stringify(taken))
    return
  }
  request.resume()
  const slotMs = Date.parse(request.headers['x-scheduled-time'] as string)
  arrivals.push({ atMs, slotMs, executionId: request.headers['x-execution-id'] as string })
  response.end('ok')
})
server.keepAliveTimeout = 60_000
server.listen(0, '127.0.0.1', () => process.send!({ port: (server.address() as { port: number }).port }))
process.on('disconnect', () => process.exit(0))
