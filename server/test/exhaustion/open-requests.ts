// Requests that a client leaves open: without the rest of their body, or with an answer that does not end.
import { type ClientRequest, type IncomingMessage, request } from 'node:http'

export interface OpenRequest {
  method?: string
  headers: Record<string, string>
  /** The beginning of the body. Null: the request is complete. */
  body?: string | null
}

export class OpenRequests implements Disposable {
  readonly #open = new Set<ClientRequest>()
  /** Heads of answers so far, by status; 0: the connection was closed. */
  readonly statuses = new Map<number, number>()

  /** Requests now whose answer has not ended. */
  get open(): number {
    return this.#open.size
  }

  start(url: string, { method = 'POST', headers, body = null }: OpenRequest): void {
    const one = request(url, { method, headers, agent: false })
    this.#open.add(one)
    one.on('response', (response: IncomingMessage) => {
      this.#count(response.statusCode!)
      response.resume()
    })
    one.on('error', () => this.#count(0))
    one.on('close', () => this.#open.delete(one))
    if (body === null) one.end()
    else one.write(body)
  }

  answered(status: number): number {
    return this.statuses.get(status) ?? 0
  }

  [Symbol.dispose](): void {
    for (const one of this.#open) one.destroy()
  }

  #count(status: number): void {
    this.statuses.set(status, this.answered(status) + 1)
  }
}
