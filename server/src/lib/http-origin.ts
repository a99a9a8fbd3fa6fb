// The connections to one origin: undici's clients, one call at a time on each, the last used first. undici's own pool
// looks through all of them for a free one with every call, which at 200 calls under way was a seventh of a call's CPU
// ([m] 60 µs against 51).
import { Client, type Dispatcher } from 'undici'

/** A call on its way: undici's handler, and what we need to know of it. */
export interface OriginCall extends Dispatcher.DispatchHandler {
  readonly isEnded: boolean
  /** Set here: undici has done with it, however it ended. */
  onReleased: () => void
  /** It could not even be written. */
  refuse(error: unknown): void
}

interface Waiting {
  options: Dispatcher.DispatchOptions
  call: OriginCall
}

export class HttpOrigin {
  readonly #make: () => Client
  readonly #clientsMax: number
  readonly #clients = new Set<Client>()
  readonly #free: Client[] = []
  #waiting: Waiting[] = []
  /** Null: it is in use. */
  #onClosed: (() => void) | null = null

  constructor(origin: string, options: Client.Options, clientsMax: number) {
    this.#make = () => new Client(origin, options)
    this.#clientsMax = clientsMax
  }

  /** Sends it, or lets it wait for a connection. */
  dispatch(options: Dispatcher.DispatchOptions, call: OriginCall): void {
    const client = this.#free.pop() ?? this.#create()
    if (client === null) this.#waiting.push({ options, call })
    else this.#send(client, { options, call })
  }

  /** Is given no more calls; what is under way or waits ends first. `onClosed`: nothing of it is left. */
  retire(onClosed: () => void): void {
    this.#onClosed = onClosed
    if (this.#clients.size === 0) onClosed()
    else for (const client of this.#free) this.#close(client)
  }

  /** Ends everything at once. */
  async destroy(): Promise<void> {
    await Promise.all([...this.#clients].map((client) => client.destroy().catch(() => {})))
  }

  #create(): Client | null {
    if (this.#clients.size >= this.#clientsMax) return null
    const client = this.#make()
    this.#clients.add(client)
    return client
  }

  #send(client: Client, { options, call }: Waiting): void {
    call.onReleased = () => this.#release(client)
    try {
      client.dispatch(options, call)
    } catch (error) {
      call.refuse(error)
      this.#release(client)
    }
  }

  #release(client: Client): void {
    const next = this.#takeWaiting()
    if (next !== null) this.#send(client, next)
    else if (this.#onClosed === null) this.#free.push(client)
    else this.#close(client)
  }

  #close(client: Client): void {
    void client.close().catch(() => {})
    this.#clients.delete(client)
    if (this.#clients.size === 0) this.#onClosed!()
  }

  /** What was given up while it waited is not sent any more. */
  #takeWaiting(): Waiting | null {
    if (this.#waiting.length === 0) return null
    const at = this.#waiting.findIndex(({ call }) => !call.isEnded)
    const next = at < 0 ? null : this.#waiting[at]!
    this.#waiting = at < 0 ? [] : this.#waiting.slice(at + 1)
    return next
  }
}
