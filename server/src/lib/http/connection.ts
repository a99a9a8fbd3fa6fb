// One HTTP/1.1 connection, plain or over TLS: one call at a time, kept for the next one when the target agrees. A bare loop of
// such calls took 9 µs of CPU each, one by undici's dispatch 20 to 24 (docs/decisions/0014-ten-thousand-a-second.md).
import { connect as connectTcp, isIP, type LookupFunction, type Socket } from 'node:net'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import type { Timers } from '../../ports/timers.ts'
import type { RequestText } from './request.ts'
import { ResponseReader } from './response.ts'

/** A call as its connection sees it. */
export interface ConnectionCall {
  readonly method: string
  /** Of a whole answer, with its heads and framing; beyond, the call fails with a ResponseTooLarge. */
  readonly answerBytesMax: number
  /** Ended by its sender while it waited: it is not sent. */
  readonly isEnded: boolean
  /** It is being sent. */
  onStarted(connection: HttpConnection): void
  /** Once. */
  takeText(): RequestText
  /** With each part of the answer, before anything in it is read. */
  onReceived(bytes: number): void
  onBody(part: Uint8Array): void
  onAnswered(status: number, headers: Record<string, string>): void
  onFailed(error: Error): void
}

/** Where connections lead. */
export interface Place {
  readonly isTls: boolean
  /** A name, or an address without brackets. */
  readonly hostname: string
  readonly port: number
  readonly lookup?: LookupFunction
  /** Time to connect, TLS included. A slower target counts as unreachable. */
  readonly connectMsMax: number
  /** Session of the last TLS connection, which the next one resumes. */
  session?: Buffer
}

export interface ConnectionOwner {
  /** Called when the connection can carry another call. */
  onFree(connection: HttpConnection): void
  /** Called when the connection is closed; its call has ended too. */
  onClosed(connection: HttpConnection): void
  /** Called when a connection failed, or could not be opened. */
  onError(error: Error): void
}

export class ConnectTimeout extends Error {}

/** A target that vanished during a call of days is found out long before its end. */
const keepAliveMs = 60_000

/**
 * After so many bytes of an answer the others have their turn. A socket is otherwise read 32 times in one turn of the
 * event loop if there is enough to read: 2 MB.
 */
const turnBytesMax = 256 * 1024

// One buffer for all connections: each read is consumed before the next read begins.
const received = Buffer.allocUnsafeSlow(64 * 1024)

export class HttpConnection {
  /** On the monotonic clock: until then it may be used again. Its owner's. */
  idleUntilMs = 0
  /** Its place in the list of idle connections, which alone sets these. */
  isIdle = false
  olderIdle: HttpConnection | null = null
  newerIdle: HttpConnection | null = null
  readonly reader = new ResponseReader()
  readonly #owner: ConnectionOwner
  readonly #socket: Socket
  readonly #timers: Timers
  #turnBytes = 0
  #call: ConnectionCall | null
  #isConnected = false
  #isClosed = false

  /** Connects, and then sends the call. */
  constructor(timers: Timers, place: Place, owner: ConnectionOwner, call: ConnectionCall) {
    this.#owner = owner
    this.#timers = timers
    this.#call = call
    this.#socket = place.isTls ? openTls(place, this.#onRead) : openTcp(place, this.#onRead)
    const socket = this.#socket
    const late = timers.schedule(place.connectMsMax, () =>
      socket.destroy(new ConnectTimeout(`no connection within ${place.connectMsMax} ms`)),
    )
    socket.once(place.isTls ? 'secureConnect' : 'connect', () => {
      late.cancel()
      this.#isConnected = true
      this.#write()
    })
    socket.on('end', () => this.#onEnd())
    socket.on('error', (error) => {
      owner.onError(error)
      this.fail(error)
    })
    socket.once('close', () => {
      late.cancel()
      this.fail(new Error('the target closed the connection'))
      this.#close()
    })
  }

  /** Only on a free connection. */
  send(call: ConnectionCall): void {
    this.#call = call
    if (this.#isConnected) this.#write()
  }

  /** At once; a call that is under way hears nothing more of it. */
  destroy(): void {
    this.#call = null
    this.#socket.destroy()
    this.#close()
  }

  /** Its call has failed, and it is of no use any more. */
  fail(error: Error): void {
    const call = this.#call
    this.destroy()
    call?.onFailed(error)
  }

  #write(): void {
    const call = this.#call!
    if (call.isEnded) {
      this.#call = null
      this.#owner.onFree(this)
      return
    }
    this.reader.begin(call.method, call.answerBytesMax)
    this.#turnBytes = 0
    call.onStarted(this)
    // The call was ended by its own onStarted.
    if (this.#call !== call) return
    const { head, body } = call.takeText()
    if (body === null) this.#socket.write(head, 'latin1')
    else {
      this.#socket.cork()
      this.#socket.write(head, 'latin1')
      this.#socket.write(body)
      this.#socket.uncork()
    }
  }

  /** False: the socket is paused. */
  readonly #onRead = (bytes: number, buffer: Uint8Array): boolean => {
    const call = this.#call
    if (call === null || !this.#isConnected) {
      this.fail(new Error('the target answered before it was asked'))
      return true
    }
    call.onReceived(bytes)
    this.#read(call, Buffer.from(buffer.buffer, buffer.byteOffset, bytes))
    this.#turnBytes += bytes
    return this.#turnBytes < turnBytesMax || this.#call !== call || this.#yieldTurn()
  }

  #yieldTurn(): false {
    this.#turnBytes = 0
    this.#timers.schedule(0, () => {
      if (!this.#isClosed) this.#socket.resume()
    })
    return false
  }

  #read(call: ConnectionCall, bytes: Buffer): void {
    let isWhole: boolean
    try {
      isWhole = this.reader.read(bytes, (part) => call.onBody(part))
    } catch (error) {
      this.fail(error as Error)
      return
    }
    // Not if the call was ended by its own callback.
    if (isWhole && this.#call === call) this.#finish(call)
  }

  #onEnd(): void {
    const call = this.#call
    if (call !== null && this.#isConnected && this.reader.end()) this.#finish(call)
    else this.fail(new Error('the target closed the connection'))
  }

  #finish(call: ConnectionCall): void {
    const { status, headers, isKept } = this.reader
    this.#call = null
    call.onAnswered(status, headers)
    // A target that answers before it has read everything is left alone with the rest.
    if (isKept && this.#socket.writableLength === 0) this.#owner.onFree(this)
    else this.destroy()
  }

  #close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#owner.onClosed(this)
  }
}

type OnRead = (bytes: number, buffer: Uint8Array) => boolean

function openTcp({ hostname, port, lookup }: Place, callback: OnRead): Socket {
  return connectTcp({
    host: hostname,
    port,
    noDelay: true,
    keepAlive: true,
    keepAliveInitialDelay: keepAliveMs,
    onread: { buffer: received, callback },
    ...(lookup && { lookup }),
  })
}

function openTls(place: Place, callback: OnRead): TLSSocket {
  const { hostname, port, lookup, session } = place
  // As for a plain one, which the types do not know of.
  const reading = { onread: { buffer: received, callback } }
  const socket = connectTls({
    ...reading,
    host: hostname,
    port,
    // Names only: an address is checked against the certificate, and not sent.
    servername: isIP(hostname) === 0 ? hostname : '',
    ALPNProtocols: ['http/1.1'],
    ...(lookup && { lookup }),
    ...(session && { session }),
  })
  socket.setNoDelay(true)
  socket.setKeepAlive(true, keepAliveMs)
  socket.on('session', (ticket) => {
    place.session = ticket
  })
  return socket
}
