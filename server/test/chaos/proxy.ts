// A TCP proxy in this process, in front of PostgreSQL or any other server: the network of a single process, to be cut,
// stalled, slowed down or robbed of the replies to its commits. While it is stalled, neither end learns that the other
// has closed, as on a network that loses packets.

import type { AddressInfo } from 'node:net'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { type Direction, Link } from './proxy-link.ts'

export type ProxyTarget = { host: string; port: number } | { path: string }

export interface ProxyOptions {
  target: ProxyTarget
  /** Draws which replies are swallowed. Default Math.random. */
  random?: () => number
}

/** Which commits go without a reply: this share of them, or the next so many. */
export type Swallowed = { share: number } | { next: number }

export async function startProxy({ target, random = Math.random }: ProxyOptions): Promise<TcpProxy> {
  const proxy = new TcpProxy(target, random)
  await proxy.listen()
  return proxy
}

export class TcpProxy implements AsyncDisposable {
  readonly host = '127.0.0.1'
  /** Replies that were swallowed so far. */
  swallowed = 0
  readonly #random: () => number
  readonly #server: Server
  readonly #links = new Set<Link>()
  #target: ProxyTarget
  #isCut = false
  #delayMs = 0
  #stalled: Readonly<Record<Direction, boolean>> = { 'to-server': false, 'to-client': false }
  #swallow: Swallowed = { share: 0 }

  constructor(target: ProxyTarget, random: () => number) {
    this.#target = target
    this.#random = random
    // Half open: the end of a single direction is passed on as such, when its turn has come.
    this.#server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => this.#accept(client))
  }

  async listen(): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject)
      this.#server.listen(0, this.host, resolve)
    })
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  databaseUrl(database: string, user = 'postgres'): string {
    return `postgres://${user}@${this.host}:${this.port}/${database}`
  }

  get connections(): number {
    return this.#links.size
  }

  /** Resets open connections, and every new connection, until `restore`. */
  cut(): void {
    this.#isCut = true
    this.reset()
  }

  restore(): void {
    this.#isCut = false
  }

  /** Resets open connections; new connections are accepted. */
  reset(): void {
    for (const link of this.#links) link.reset()
  }

  /** Connections stay, new ones are accepted, nothing passes. */
  stall(): void {
    this.#stall({ 'to-server': true, 'to-client': true })
  }

  /** Only this direction passes. */
  halfOpen(passing: Direction): void {
    this.#stall({ 'to-server': passing !== 'to-server', 'to-client': passing !== 'to-client' })
  }

  /** Resumes the traffic held up by `stall` or `halfOpen`. */
  resume(): void {
    this.#stall({ 'to-server': false, 'to-client': false })
  }

  /** Each way takes this much longer. */
  delay(ms: number): void {
    this.#delayMs = ms
  }

  /** The commit reached the server, its reply is dropped, then the connection is reset: the outcome is unknown. */
  swallowCommitReplies(which: Swallowed): void {
    this.#swallow = which
  }

  /** New connections go to this target; connections to the old target are reset. */
  redirect(target: ProxyTarget): void {
    this.#target = target
    this.reset()
  }

  /** Everything is as on a good network again. */
  heal(): void {
    this.restore()
    this.resume()
    this.delay(0)
    this.swallowCommitReplies({ share: 0 })
  }

  async close(): Promise<void> {
    this.cut()
    if (this.#server.listening) await new Promise((resolve) => this.#server.close(resolve))
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  #accept(client: Socket): void {
    if (this.#isCut) {
      client.on('error', () => {})
      client.resetAndDestroy()
      return
    }
    const upstream = connect({ ...this.#target, allowHalfOpen: true, noDelay: true })
    const link = new Link(client, upstream, {
      delayMs: () => this.#delayMs,
      isStalled: (direction) => this.#stalled[direction],
      wantsToSwallow: () => this.#wantsToSwallow(),
      onSwallowed: () => this.#hasSwallowed(),
      onClosed: () => this.#links.delete(link),
    })
    this.#links.add(link)
  }

  #stall(stalled: Readonly<Record<Direction, boolean>>): void {
    this.#stalled = stalled
    for (const link of this.#links) link.move()
  }

  #wantsToSwallow(): boolean {
    if ('next' in this.#swallow) return this.#swallow.next > 0
    return this.#swallow.share > 0 && this.#random() < this.#swallow.share
  }

  #hasSwallowed(): void {
    this.swallowed += 1
    if ('next' in this.#swallow) this.#swallow = { next: this.#swallow.next - 1 }
  }
}
