// Reads the answers of an HTTP/1.1 connection, from pieces of any size. Strict where leniency would let two readers see
// two messages; keeps only the headers that callers read, and nothing of the body.

import { token } from './fields.ts'

export class InvalidResponse extends Error {}
export class ResponseTooLarge extends Error {}

/**
 * The headers that callers read. Keeping all of the usual ten costs 0.8 µs a call, and holds data sent by strangers.
 */
const keptHeaders: ReadonlySet<string> = new Set(['content-type', 'retry-after', 'x-carillon-async'])
const framingHeaders: ReadonlySet<string> = new Set([
  'content-length',
  'transfer-encoding',
  'connection',
  'keep-alive',
])
/** Names of other lengths are none of them. */
const lengthsRead: ReadonlySet<number> = new Set(
  [...keptHeaders, ...framingHeaders].map(({ length }) => length),
)

/** Limit of the head, and of the trailer after a chunked body. */
const headBytesMax = 16_384
/** An answer has one or two of them, if any. */
const interimHeadsMax = 10
/** Limit of the extension of one chunk, and of all of them in an answer. They say nothing to us. */
const extensionBytesMax = 1_024
const extensionsBytesMax = 16_384
/** 2^52: more cannot be counted exactly. */
const sizeDigitsMax = 13

const start = 'HTTP/1.'
const statusLine = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: .*)?$/
// Lines without control characters; half a line break is one.
const lines = /^[\t\x20-\x7e\x80-\xff]*(?:\r\n[\t\x20-\x7e\x80-\xff]*)*$/
const halfBreak = 'a line ends with half a line break'
const [lf, cr, space, tab, semicolon, del] = [0x0a, 0x0d, 0x20, 0x09, 0x3b, 0x7f]

type State =
  | 'head'
  /** A body of known length. */
  | 'counted'
  /** A body that ends with the connection. */
  | 'open'
  | 'chunk size'
  | 'chunk extension'
  | 'chunk size end'
  | 'chunk'
  | 'chunk end'
  /** After a chunked body: an empty line, or other lines and then an empty one. */
  | 'trailer'
  | 'trailer lines'
  | 'trailer end'
  | 'over'

export class ResponseReader {
  status = 0
  /** Only the headers that callers read. */
  headers: Record<string, string> = {}
  /** Whether the connection may be used again. */
  isKept = false
  /** Keep-alive time that the target offers; null: none given. */
  keepAliveSeconds: number | null = null
  #state: State = 'over'
  #method = ''
  /** The beginning of a head, or of trailer lines, without its end yet. */
  #pending: Buffer | null = null
  /** Of the body or the chunk. */
  #leftBytes = 0
  #sizeDigits = 0
  /** The byte before, where it matters. */
  #last = 0
  #framing = new Map<string, string>()
  /** Bytes of this answer that may still come, heads and framing included. */
  #roomBytes = 0
  #interimHeads = 0
  #extensionBytes = 0
  #extensionsBytes = 0

  /**
   * The next answer is that to a request with this method. `bytesMax`: of all of it, with its heads and framing; beyond,
   * `read` throws a ResponseTooLarge.
   */
  begin(method: string, bytesMax: number): void {
    this.#method = method
    this.#roomBytes = bytesMax
    this.#interimHeads = 0
    this.#extensionsBytes = 0
    this.#state = 'head'
    this.#pending = null
    this.status = 0
    this.isKept = false
    this.keepAliveSeconds = null
    this.headers = {}
  }

  /** True: the answer is whole. `bytes` is read before this returns. */
  read(bytes: Buffer, onBody: (part: Uint8Array) => void): boolean {
    let at = 0
    while (this.#state !== 'over') {
      if (at >= bytes.length) {
        this.#count(at)
        return false
      }
      at = this.#readSome(bytes, at, onBody)
    }
    this.#count(at)
    // Bytes after the answer belong to no request: this connection must not be used again.
    if (at < bytes.length) this.isKept = false
    return true
  }

  /** The connection has ended. True: and the answer with it, as it should. */
  end(): boolean {
    if (this.#state !== 'open') return false
    this.#state = 'over'
    return true
  }

  #count(bytes: number): void {
    this.#roomBytes -= bytes
    if (this.#roomBytes < 0) throw new ResponseTooLarge()
  }

  #readSome(bytes: Buffer, at: number, onBody: (part: Uint8Array) => void): number {
    switch (this.#state) {
      case 'head':
      case 'trailer lines':
        return this.#readLines(bytes, at)
      case 'open':
        onBody(bytes.subarray(at))
        return bytes.length
      case 'counted':
      case 'chunk':
        return this.#readBody(bytes, at, onBody)
      case 'chunk extension':
        return this.#readExtension(bytes, at)
      case 'trailer':
        this.#state = bytes[at] === cr ? 'trailer end' : 'trailer lines'
        return this.#state === 'trailer end' ? at + 1 : at
      default:
        this.#readByte(bytes[at]!)
        return at + 1
    }
  }

  /** Up to an empty line. */
  #readLines(bytes: Buffer, at: number): number {
    const before = this.#pending?.length ?? 0
    const here = at === 0 ? bytes : bytes.subarray(at)
    const all = this.#pending === null ? here : Buffer.concat([this.#pending, here])
    const end = all.indexOf('\r\n\r\n', Math.max(0, before - 3))
    // Without an end, 3 bytes of it may be there already: the limit is the same however it is cut into pieces.
    if ((end < 0 ? all.length - 3 : end) > headBytesMax)
      throw new InvalidResponse(`the headers are longer than ${headBytesMax} bytes`)
    if (end < 0) {
      if (this.#state === 'head') checkStart(all)
      checkBreaks(all, before)
      // A copy: the read buffer is reused for the next piece.
      this.#pending = before === 0 ? Buffer.from(all) : all
      return bytes.length
    }
    this.#pending = null
    const text = all.toString('latin1', 0, end)
    if (!lines.test(text)) throw new InvalidResponse('a header has a character that is not allowed')
    if (this.#state === 'head') this.#takeHead(text)
    else {
      this.#takeHeaders(text, 0, false)
      this.#state = 'over'
    }
    return at + end + 4 - before
  }

  #takeHead(text: string): void {
    const lineEnd = text.indexOf('\r\n')
    const match = statusLine.exec(lineEnd < 0 ? text : text.slice(0, lineEnd))
    if (match === null) throw new InvalidResponse('the status line is not one of HTTP/1.0 or HTTP/1.1')
    const status = Number(match[2])
    this.#framing.clear()
    if (lineEnd >= 0) this.#takeHeaders(text, lineEnd + 2, status >= 200)
    // Interim: the answer is still to come. We never asked for another protocol.
    if (status === 101) throw new Error('the target wants to speak another protocol')
    if (status < 200) {
      this.#interimHeads += 1
      if (this.#interimHeads > interimHeadsMax)
        throw new InvalidResponse(`it has more than ${interimHeadsMax} interim answers`)
      return
    }
    this.status = status
    this.#frame(match[1] === '1')
  }

  #takeHeaders(text: string, from: number, isKept: boolean): void {
    for (let at = from; at < text.length; ) {
      let end = text.indexOf('\r\n', at)
      if (end < 0) end = text.length
      const colon = text.indexOf(':', at)
      const name = text.slice(at, colon)
      if (colon < 0 || colon > end || !token.test(name))
        throw new InvalidResponse('a header is not a name and a value')
      if (isKept && lengthsRead.has(name.length))
        this.#takeHeader(name.toLowerCase(), trimBlanks(text, colon + 1, end))
      at = end + 2
    }
  }

  #takeHeader(name: string, value: string): void {
    if (keptHeaders.has(name)) {
      const known = this.headers[name]
      this.headers[name] = known === undefined ? value : `${known}, ${value}`
    } else if (framingHeaders.has(name)) {
      const known = this.#framing.get(name)
      if (name === 'content-length' && known !== undefined) throw new InvalidResponse('it has two lengths')
      this.#framing.set(name, known === undefined ? value : `${known}, ${value}`)
    }
  }

  /** How long the body is, and whether the connection may be used again. */
  #frame(isNew: boolean): void {
    const [length, coding] = [this.#framing.get('content-length'), this.#framing.get('transfer-encoding')]
    const connection = this.#framing.get('connection')?.toLowerCase() ?? ''
    // HTTP/1.0 knows no chunks: where such an answer ends is a guess.
    const isOffered = isNew || (hasWord(connection, 'keep-alive') && coding === undefined)
    this.isKept = isOffered && !hasWord(connection, 'close')
    const offered = /(?:^|[\s,])timeout=(\d{1,9})/i.exec(this.#framing.get('keep-alive') ?? '')
    this.keepAliveSeconds = offered === null ? null : Number(offered[1])
    if (coding !== undefined && length !== undefined)
      throw new InvalidResponse('it is chunked and has a length')
    if (length !== undefined && !/^\d{1,15}$/.test(length))
      throw new InvalidResponse('its length is not a number')
    if (this.#method === 'HEAD' || this.status === 204 || this.status === 304) {
      this.#state = 'over'
      // A body that such an answer cannot have may follow all the same.
      if (this.#method !== 'HEAD' && (coding !== undefined || Number(length ?? 0) > 0)) this.isKept = false
    } else if (coding !== undefined && isChunked(coding)) this.#beginSize()
    else if (coding === undefined && length !== undefined) {
      this.#leftBytes = Number(length)
      this.#state = this.#leftBytes === 0 ? 'over' : 'counted'
    } else {
      this.#state = 'open'
      this.isKept = false
    }
  }

  #readBody(bytes: Buffer, at: number, onBody: (part: Uint8Array) => void): number {
    const end = Math.min(bytes.length, at + this.#leftBytes)
    this.#leftBytes -= end - at
    if (this.#leftBytes === 0) this.#state = this.#state === 'counted' ? 'over' : 'chunk end'
    this.#last = 0
    onBody(bytes.subarray(at, end))
    return end
  }

  #beginSize(): void {
    this.#state = 'chunk size'
    this.#leftBytes = 0
    this.#sizeDigits = 0
    this.#extensionBytes = 0
  }

  #beginChunk(): void {
    this.#state = this.#leftBytes > 0 ? 'chunk' : 'trailer'
  }

  #readExtension(bytes: Buffer, from: number): number {
    for (let at = from; at < bytes.length; at++) {
      const byte = bytes[at]!
      if (byte === cr) {
        this.#state = 'chunk size end'
        return at + 1
      }
      this.#extensionBytes += 1
      this.#extensionsBytes += 1
      if (this.#extensionBytes > extensionBytesMax || this.#extensionsBytes > extensionsBytesMax)
        throw new InvalidResponse('its chunk extensions are too long')
      if ((byte < space && byte !== tab) || byte === del)
        throw new InvalidResponse('a chunk has an extension with a character that is not allowed')
    }
    return bytes.length
  }

  #readByte(byte: number): void {
    const before = this.#last
    this.#last = byte
    switch (this.#state) {
      case 'chunk size':
        this.#readSize(byte)
        break
      case 'chunk size end':
        if (byte !== lf) throw new InvalidResponse(halfBreak)
        this.#beginChunk()
        break
      case 'chunk end':
        if (byte !== (before === cr ? lf : cr)) throw new InvalidResponse('a chunk is longer than it says')
        if (byte === lf) this.#beginSize()
        break
      default:
        if (byte !== lf) throw new InvalidResponse(halfBreak)
        this.#state = 'over'
    }
  }

  #readSize(byte: number): void {
    const digit = digitOf(byte)
    if (digit >= 0) {
      this.#sizeDigits += 1
      if (this.#sizeDigits > sizeDigitsMax) throw new InvalidResponse('a chunk is too long')
      this.#leftBytes = this.#leftBytes * 16 + digit
      return
    }
    if (this.#sizeDigits === 0) throw new InvalidResponse('a chunk has no length')
    if (byte === cr) this.#state = 'chunk size end'
    else if (byte === semicolon) this.#state = 'chunk extension'
    else throw new InvalidResponse('the length of a chunk is not a number')
  }
}

function checkStart(bytes: Buffer): void {
  const text = bytes.toString('latin1', 0, start.length)
  if (!start.startsWith(text)) throw new InvalidResponse('it does not begin as HTTP/1.0 or HTTP/1.1 does')
}

/** Now, and not when the head is whole: to a target that ends its lines otherwise it is whole already. */
function checkBreaks(bytes: Buffer, from: number): void {
  for (let at = bytes.indexOf(lf, from); at >= 0; at = bytes.indexOf(lf, at + 1))
    if (bytes[at - 1] !== cr) throw new InvalidResponse(halfBreak)
}

/** Without the spaces and tabs around it. Not `trim`, which takes more than HTTP does for a space, as 0xa0. */
function trimBlanks(text: string, from: number, end: number): string {
  while (from < end && isBlank(text.charCodeAt(from))) from++
  while (end > from && isBlank(text.charCodeAt(end - 1))) end--
  return text.slice(from, end)
}

function isBlank(byte: number): boolean {
  return byte === space || byte === tab
}

function hasWord(list: string, word: string): boolean {
  return list === word || list.split(',').some((one) => trimBlanks(one, 0, one.length) === word)
}

/** Otherwise the body ends with the connection. */
function isChunked(coding: string): boolean {
  if (!/(?:^|,)[\x20\t]*chunked$/i.test(coding)) return false
  if (/chunked.*chunked/i.test(coding)) throw new InvalidResponse('it is chunked twice')
  return true
}

/** Below 0: it is none. */
function digitOf(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30
  const lower = byte | 0x20
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1
}
