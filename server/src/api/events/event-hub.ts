// All readers of GET /events in this process. Each tenant with readers is polled once a second, however many there are;
// a tenant without readers is not. A poll that takes longer than its second costs the next poll, and nothing else.
import type { ServerResponse } from 'node:http'
import { type Place, type PlaceHolder, TenantShares } from '../../domain/tenants/tenant-shares.ts'
import { toRfc3339 } from '../../lib/time/epoch.ts'
import type { Timer, Timers } from '../../ports/timers.ts'
import { loopFailed } from '../../telemetry/events.ts'
import { ApiError } from '../http/api-error.ts'
import { serverText, shareText } from '../http/take-place.ts'
import { EventStream, formatEvent } from './event-stream.ts'
import { type KeptEvent, resumeMsMax, TenantEvents, type TenantEventsDeps } from './tenant-events.ts'
import { type LogPlace, type WatchDeps, WatchedExecution } from './watched-execution.ts'

export interface EventHubDeps extends TenantEventsDeps, WatchDeps {
  timers: Timers
  /** Makes an id that no other process has. */
  newId: () => string
  isStopping: () => boolean
  /** Whether a second tenant exists. */
  isShared: () => boolean
}

const streamsMax = 100
const streamsOfKeyMax = 10
const beatMs = 1_000
/** Watched executions that are looked at in one beat; more take turns. */
const watchedMax = 20
/** How soon a browser comes back by itself. */
const retryMs = 2_000

export interface NewReader {
  response: ServerResponse
  place: Place
  tenantId: string
  /** Null: the operator key. */
  keyId: string | null
  watch: string | null
  lastEventId: string | null
  /** Rejects when the caller may not read any more. */
  check: () => Promise<void>
}

interface Reader extends Omit<NewReader, 'response' | 'watch' | 'lastEventId'> {
  stream: EventStream
  watched: WatchedExecution | null
}

interface Room {
  events: TenantEvents
  readers: Set<Reader>
  timer: Timer | null
  isLooking: boolean
  /** Looks that failed since the last one that did not. */
  failures: number
  leftMs: number
}

export class EventHub {
  readonly #deps: EventHubDeps
  readonly #rooms = new Map<string, Room>()
  readonly #streams = new Map<string | null, number>()
  readonly #shares: TenantShares

  constructor(deps: EventHubDeps) {
    this.#deps = deps
    this.#shares = new TenantShares({ placesMax: streamsMax, isShared: deps.isShared })
  }

  /** Before anything is sent: the place of one more reader, for `open`. */
  takePlace(holder: PlaceHolder & Pick<NewReader, 'keyId'>): Place {
    if ((this.#streams.get(holder.keyId) ?? 0) >= streamsOfKeyMax)
      throw refused(`The key has ${streamsOfKeyMax} streams open, as many as it may.`)
    const taken = this.#shares.take(holder)
    if (taken.kind === 'taken') return taken.place
    throw refused(
      taken.kind === 'tenant_full'
        ? shareText(this.#shares, 'streams open')
        : serverText(this.#shares, holder, 'streams open'),
    )
  }

  /** The head of the answer is written. */
  open({ response, watch, lastEventId, ...who }: NewReader): void {
    const { clock } = this.#deps
    const room = this.#roomOf(who.tenantId)
    const place = readEventId(lastEventId)
    const after = place?.log?.executionId === watch ? (place?.log ?? null) : null
    const stream = new EventStream({
      response,
      monotonicMs: () => clock.monotonicMs(),
      onEnd: () => this.#leave(room, reader),
    })
    const watched = watch === null ? null : new WatchedExecution(this.#deps, who.tenantId, watch, after)
    const reader: Reader = { ...who, stream, watched }
    room.readers.add(reader)
    this.#streams.set(who.keyId, (this.#streams.get(who.keyId) ?? 0) + 1)
    this.#welcome(room, reader, place)
    if (room.timer === null) this.#beat(room)
  }

  /** All streams end at once. */
  close(): void {
    for (const { readers, timer } of this.#rooms.values()) {
      timer?.cancel()
      for (const { stream } of readers) stream.end()
    }
    this.#rooms.clear()
  }

  #roomOf(tenantId: string): Room {
    const nowMs = this.#deps.clock.monotonicMs()
    for (const [id, { readers, leftMs }] of this.#rooms) {
      if (readers.size === 0 && nowMs - leftMs > resumeMsMax) this.#rooms.delete(id)
    }
    const known = this.#rooms.get(tenantId)
    if (known !== undefined) return known
    const events = new TenantEvents(this.#deps, tenantId, this.#deps.newId())
    const room = {
      events,
      readers: new Set<Reader>(),
      timer: null,
      isLooking: false,
      failures: 0,
      leftMs: nowMs,
    }
    this.#rooms.set(tenantId, room)
    return room
  }

  #leave(room: Room, reader: Reader): void {
    room.readers.delete(reader)
    room.leftMs = this.#deps.clock.monotonicMs()
    const left = this.#streams.get(reader.keyId)! - 1
    if (left === 0) this.#streams.delete(reader.keyId)
    else this.#streams.set(reader.keyId, left)
    reader.place.leave()
    if (room.readers.size > 0) return
    room.timer?.cancel()
    room.timer = null
  }

  #welcome({ events }: Room, { stream, tenantId, watched }: Reader, place: EventPlace | null): void {
    const missed = place === null ? [] : place.feed === events.id ? events.behind(place.number) : null
    const from = missed === null || place === null ? events.last : place.number
    const hello = { as_of: toRfc3339(this.#deps.clock.databaseNow()), tenant_id: tenantId }
    const tail = tailOf(watched)
    stream.write(
      `retry: ${retryMs}\nid: ${events.id}.${from}${tail}\n${formatEvent('hello', JSON.stringify(hello))}`,
    )
    if (missed === null) stream.write(`id: ${events.id}.${from}${tail}\n${formatEvent('reset', '{}')}`)
    else stream.write(textOf(events, missed, tail))
  }

  #beat(room: Room): void {
    room.timer = this.#deps.timers.schedule(beatMs, () => {
      room.timer = null
      if (this.#deps.isStopping()) for (const { stream } of room.readers) stream.end()
      if (room.readers.size > 0) this.#beat(room)
    })
    for (const reader of room.readers) {
      reader.stream.keepAlive()
      reader.check().catch((error: Error) => {
        // That we cannot ask now takes nobody's right away.
        if (error instanceof ApiError && error.code !== 'UNAVAILABLE') reader.stream.end()
      })
    }
    if (room.isLooking) return
    room.isLooking = true
    this.#look(room)
      .then(
        () => {
          room.failures = 0
        },
        (error: unknown) => {
          room.failures += 1
          // Once for each time that it is away: a line a second would tell nobody more.
          if (room.failures === 1)
            loopFailed.emit({ loop: 'look for events', error, failures: 1, retryMs: beatMs })
        },
      )
      .finally(() => {
        room.isLooking = false
      })
  }

  async #look(room: Room): Promise<void> {
    const { events, readers } = room
    const fresh = await events.look()
    const plain = Buffer.from(textOf(events, fresh, ''))
    for (const { stream, watched } of readers)
      stream.write(watched === null ? plain : textOf(events, fresh, tailOf(watched)))
    const watching = [...readers].filter(({ watched }) => watched !== null && !watched.done)
    for (const reader of watching.slice(0, watchedMax)) {
      const watched = reader.watched!
      const texts = await watched.look()
      const head = `id: ${events.id}.${events.last}${tailOf(watched)}\n`
      reader.stream.write(texts.map((text) => head + text).join(''))
      if (watching.length <= watchedMax || !readers.delete(reader)) continue
      // To the end of the line: watched executions that were not polled are the first of the next beat.
      readers.add(reader)
    }
  }
}

function refused(detail: string): ApiError {
  return new ApiError('TOO_MANY_STREAMS', detail, [], { retryAfterSeconds: 5 })
}

function textOf(events: TenantEvents, some: readonly KeptEvent[], tail: string): string {
  return some.map(({ number, text }) => `id: ${events.id}.${number}${tail}\n${text}`).join('')
}

/** Where the reader is in the log that it follows: part of the id of every event it gets. */
function tailOf(watched: WatchedExecution | null): string {
  if (watched === null || watched.after === null) return ''
  return `.${watched.executionId}.${watched.after.attempt}.${watched.after.line}`
}

interface EventPlace {
  feed: string
  number: number
  log: (LogPlace & { executionId: string }) | null
}

const eventId = /^([\da-z-]{1,40})\.(\d{1,12})(?:\.([\da-f-]{36})\.(\d{1,5})\.(\d{1,8}))?$/

/** Null: none was given. One that we did not write belongs to no stream, so it starts anew. */
function readEventId(text: string | null): EventPlace | null {
  if (text === null) return null
  const [, feed = '', number, executionId, attempt, line] = eventId.exec(text) ?? []
  const log = executionId === undefined ? null : { executionId, attempt: Number(attempt), line: Number(line) }
  return { feed, number: Number(number ?? 0), log }
}
