// Bounds the bytes of bodies that have come and are not answered yet: a client that sends large ones slowly, on many
// connections, would hold them in memory. By tenant and in all, as everything that tenants share. Bytes count as they
// come and not as they are announced: a client that sends nothing takes no place of others.
import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { type Place, TenantShares } from '../../domain/tenants/tenant-shares.ts'
import { holderOf } from './answer-bytes.ts'
import { takePlace } from './take-place.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** 'apart': the route bounds its bodies by itself. */
    bodies?: 'apart'
  }
}

/** In KiB. */
const receivedMax = 128 * 1024
/** A body below this takes less memory than the head of its request may. */
const countedBytesMin = 4 * 1024

const noun = 'KiB of request bodies that are not answered yet'

/** After the hooks that know the caller, and the last one before the body is read. */
export function boundBodies(app: FastifyInstance, { isShared }: { isShared: () => boolean }): void {
  const shares = new TenantShares({ placesMax: receivedMax, isShared })
  app.addHook('preParsing', (request, { raw }, payload, done) => {
    const announced = announcedBytes(request)
    if (announced < countedBytesMin || request.routeOptions.config.bodies === 'apart') {
      done(null, payload)
      return
    }
    const holder = holderOf(request)
    const places: Place[] = []
    let received = 0
    let counted = 0
    const count = (bytes: number) => {
      // The client has gone: nobody would give the place back, and nothing more comes.
      if (raw.closed) return
      received += bytes
      const more = Math.ceil(received / 1_024) - counted
      if (more === 0) return
      places.push(takePlace(shares, holder, noun, more))
      counted += more
    }
    try {
      // Nothing is read of a body for which there is no room now.
      if (Number.isFinite(announced)) takePlace(shares, holder, noun, kibibytesOf(request, announced)).leave()
    } catch (error) {
      done(error as Error)
      return
    }
    raw.once('close', () => {
      for (const place of places) place.leave()
    })
    done(null, new CountedBody(payload as Readable, count))
  })
}

/** Infinity: the body comes in chunks, and says nothing of its length. */
function announcedBytes({ headers }: FastifyRequest): number {
  if (headers['transfer-encoding'] !== undefined) return Number.POSITIVE_INFINITY
  return Number(headers['content-length'] ?? 0)
}

/** A body above the limit of its route is refused for that. */
function kibibytesOf({ routeOptions }: FastifyRequest, announced: number): number {
  return Math.ceil(Math.min(announced, routeOptions.bodyLimit) / 1_024)
}

/**
 * Passes a body on and tells the bytes that come. It takes nothing of the source before it is read itself: a body that
 * nobody reads is thrown away by Node, so that the connection can carry the next request.
 */
class CountedBody extends Readable {
  readonly #source: Readable
  readonly #count: (bytes: number) => void
  #isStarted = false

  /** `count` throws when the body must not go on. */
  constructor(source: Readable, count: (bytes: number) => void) {
    super()
    this.#source = source
    this.#count = count
    // The reader of a body that is too long listens no more, and an error without a listener would end the process.
    this.on('error', () => {})
  }

  override _read(): void {
    if (this.#isStarted) {
      this.#source.resume()
      return
    }
    this.#isStarted = true
    this.#source.on('data', (chunk: Buffer) => this.#take(chunk))
    this.#source.once('end', () => this.push(null))
    this.#source.once('error', (error) => this.destroy(error))
  }

  #take(chunk: Buffer): void {
    if (this.destroyed) return
    try {
      this.#count(chunk.length)
    } catch (error) {
      this.destroy(error as Error)
      return
    }
    if (!this.push(chunk)) this.#source.pause()
  }
}
