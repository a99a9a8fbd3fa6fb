// A real callback target in the test's process: keeps every call, answers as told.
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import { cleanUp } from '../cleanup.ts'

export interface Call {
  atMs: number
  method: string
  path: string
  headers: IncomingHttpHeaders
  body: string
}

export interface Receiver {
  url: string
  port: number
  calls: Call[]
}

export interface ReceiverOptions {
  /** Default any free one. */
  port?: number
  /** Default: 200 with a short body, at once. */
  answer?: (call: Call, response: ServerResponse, request: IncomingMessage) => void
}

export async function startReceiver(t: TestContext, options: ReceiverOptions = {}): Promise<Receiver> {
  const calls: Call[] = []
  const answer = options.answer ?? ((_call, response) => response.end('{"done":true}'))
  const server = createServer((request, response) => {
    const call: Call = {
      atMs: Date.now(),
      method: request.method!,
      path: request.url!,
      headers: request.headers,
      body: '',
    }
    calls.push(call)
    request.on('data', (chunk: Buffer) => (call.body += chunk))
    request.on('end', () => answer(call, response, request))
    request.on('error', () => {})
    response.on('error', () => {})
  })
  await new Promise<void>((resolve) => server.listen(options.port ?? 0, '127.0.0.1', resolve))
  cleanUp(t, async () => {
    const closed = new Promise((resolve) => server.close(resolve))
    server.closeAllConnections()
    await closed
  })
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, port, calls }
}
