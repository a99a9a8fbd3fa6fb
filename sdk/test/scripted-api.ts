// A small HTTP server that answers as scripted by a test and records the requests it received.
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import { cleanUp } from '../../server/test/cleanup.ts'

export interface Asked {
  method: string
  path: string
  headers: Record<string, string | string[] | undefined>
  /** Parsed; null: there was none. */
  body: unknown
  /** Whether the client has stopped waiting. */
  isGone(): boolean
}

export interface Answer {
  status?: number
  headers?: Record<string, string>
  /** Written as JSON; absent: no body. */
  body?: unknown
  /** Sent as it is. */
  text?: string
}

/** 'silence': no answer ever. 'break': the connection is closed. */
export type Script = (asked: Asked) => Answer | 'silence' | 'break' | Promise<Answer | 'silence' | 'break'>

export interface ScriptedApi {
  url: string
  asked: Asked[]
  /** Replaces the script it answers with. */
  answerWith(script: Script): void
  close(): Promise<void>
}

export async function startScriptedApi(t: TestContext, first: Script): Promise<ScriptedApi> {
  let script = first
  const asked: Asked[] = []
  const server = createServer(async (request, response) => {
    const text = Buffer.concat(await request.toArray()).toString()
    const one: Asked = {
      method: request.method!,
      path: request.url!,
      headers: request.headers,
      body: text === '' ? null : JSON.parse(text),
      isGone: () => request.socket.destroyed,
    }
    asked.push(one)
    const answer = await script(one)
    if (answer === 'silence') return
    if (answer === 'break') {
      request.socket.destroy()
      return
    }
    const { status = 200, headers = {}, body } = answer
    const type = status >= 400 ? 'application/problem+json' : 'application/json'
    response.writeHead(status, { 'content-type': type, ...headers })
    response.end(answer.text ?? (body === undefined ? '' : JSON.stringify(body)))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const close = async () => {
    if (!server.listening) return
    const closed = once(server, 'close')
    server.close().closeAllConnections()
    await closed
  }
  cleanUp(t, close)
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    answerWith: (next) => {
      script = next
    },
    close,
  }
}

export const problem = (status: number, code: string, more: object = {}): Answer => ({
  status,
  body: {
    type: `urn:carillon:error:${code}`,
    title: code,
    status,
    code,
    detail: `It is ${code}.`,
    help: '',
    ...more,
  },
})
