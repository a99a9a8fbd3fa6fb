// Reads PostgreSQL's protocol as it passes, as far as needed to tell that a write was committed: then the reply can be
// dropped, and the client is left not knowing. Bytes are never changed. Once it meets a protocol it does not understand
// (TLS, COPY, replication, another protocol), the rest passes unread.
const sslRequest = 80877103
const gssRequest = 80877104
const protocol3 = 196_608
const messageBytesMax = 256 * 1024 ** 2
const writes = /\b(insert|update|delete|merge|truncate|create|alter|drop)\b/i

export interface CommitWatchOptions {
  /** Asked when a write goes to the server: whether its reply is to be dropped. */
  wantsToSwallow: () => boolean
}

/** The bytes from the server to pass on; 'swallowed': it has committed, and the client must not learn of it. */
export type Passed = Buffer | 'swallowed'

const nothing = Buffer.alloc(0)

/** One connection. */
export class CommitWatch {
  readonly #options: CommitWatchOptions
  readonly #client = new Messages()
  readonly #server = new Messages()
  /** Of the statements the client has prepared, by name. */
  readonly #isWrite = new Map<string, boolean>()
  #started = false
  #unread = false
  /** Single bytes that the server answers before its first message. */
  #bareBytes = 0
  #inTransaction = false
  /** The reply to a write is on its way and is to be swallowed. */
  #isHolding = false
  #held: Buffer[] = []
  #failed = false
  #tag = ''

  constructor(options: CommitWatchOptions) {
    this.#options = options
  }

  fromClient(chunk: Buffer): void {
    if (this.#unread) return
    this.#client.add(chunk)
    while (!this.#started && !this.#unread) {
      const startup = this.#client.takeStartup()
      if (startup === null) break
      if (startup === sslRequest || startup === gssRequest) this.#bareBytes += 1
      else if (startup === protocol3 || startup === protocol3 + 2) this.#started = true
      else this.#unread = true
    }
    if (this.#started) for (const { type, body } of this.#client.take()) this.#sent(type, body)
    if (this.#client.isStrange) this.#unread = true
  }

  fromServer(chunk: Buffer): Passed {
    if (this.#isHolding) this.#held.push(chunk)
    if (!this.#unread && this.#read(chunk)) return 'swallowed'
    if (this.#isHolding && !this.#unread) return nothing
    if (this.#held.length === 0) return chunk
    const all = Buffer.concat(this.#held)
    this.#held = []
    this.#isHolding = false
    return all
  }

  #read(chunk: Buffer): boolean {
    let rest = chunk
    for (; this.#bareBytes > 0 && rest.length > 0; rest = rest.subarray(1)) {
      this.#bareBytes -= 1
      if (rest[0] !== 'N'.charCodeAt(0)) this.#unread = true
    }
    this.#server.add(rest)
    let swallowed = false
    for (const { type, body } of this.#server.take()) swallowed ||= this.#received(type, body)
    this.#unread ||= this.#server.isStrange
    return swallowed
  }

  #sent(type: string, body: Buffer): void {
    if (type === 'Q') this.#requested(textAt(body, 0))
    if (type === 'P') {
      const name = textAt(body, 0)
      this.#isWrite.set(name, writes.test(textAt(body, Buffer.byteLength(name) + 1)))
    }
    if (type === 'B') {
      const statement = textAt(body, Buffer.byteLength(textAt(body, 0)) + 1)
      if (this.#isWrite.get(statement) === true && !this.#inTransaction) this.#wrote()
    }
  }

  #requested(text: string): void {
    const ends = /^\s*(commit|end)\b/i.test(text)
    if (ends ? this.#inTransaction : !this.#inTransaction && writes.test(text)) this.#wrote()
  }

  #wrote(): void {
    if (this.#isHolding || !this.#options.wantsToSwallow()) return
    this.#isHolding = true
    this.#failed = false
    this.#tag = ''
  }

  /** Whether this was the end of a reply that is to be swallowed. */
  #received(type: string, body: Buffer): boolean {
    if (type === 'E') this.#failed = true
    if (type === 'C') this.#tag = textAt(body, 0)
    if (type === 'G' || type === 'H' || type === 'W') this.#unread = true
    if (type !== 'Z') return false
    this.#inTransaction = body[0] !== 'I'.charCodeAt(0)
    if (!this.#isHolding) return false
    // A transaction that failed inside answers COMMIT with ROLLBACK: that is no unknown outcome.
    if (!this.#failed && !this.#inTransaction && this.#tag !== 'ROLLBACK') return true
    this.#isHolding = false
    return false
  }
}

function textAt(body: Buffer, from: number): string {
  const end = body.indexOf(0, from)
  return body.toString('utf8', from, end < 0 ? body.length : end)
}

/** Cuts a stream of bytes into messages. */
class Messages {
  #bytes: Buffer = nothing
  /** Not PostgreSQL's protocol. */
  isStrange = false

  add(chunk: Buffer): void {
    this.#bytes = this.#bytes.length === 0 ? chunk : Buffer.concat([this.#bytes, chunk])
  }

  /** The first message has a code in place of a type; null: it is not all here. */
  takeStartup(): number | null {
    if (this.#bytes.length < 8) return null
    const length = this.#bytes.readInt32BE(0)
    if (length < 8 || length > 65_536) {
      this.isStrange = true
      return 0
    }
    if (this.#bytes.length < length) return null
    const code = this.#bytes.readInt32BE(4)
    this.#bytes = this.#bytes.subarray(length)
    return code
  }

  *take(): Generator<{ type: string; body: Buffer }> {
    while (this.#bytes.length >= 5 && !this.isStrange) {
      const length = this.#bytes.readInt32BE(1)
      if (length < 4 || length > messageBytesMax) {
        this.isStrange = true
        return
      }
      if (this.#bytes.length < length + 1) return
      const type = String.fromCharCode(this.#bytes[0]!)
      const body = this.#bytes.subarray(5, length + 1)
      this.#bytes = this.#bytes.subarray(length + 1)
      yield { type, body }
    }
  }
}
