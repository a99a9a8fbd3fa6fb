// Reads server-sent events over a real connection.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import type { TestContext } from 'node:test'
import { EVENTS, type EventData, type EventName } from '@carillon/contract/event.ts'
import { Ajv } from 'ajv'
import addFormats from 'ajv-formats'
import { createParser } from 'eventsource-parser'
import { cleanUp } from './cleanup.ts'

const ajv = new Ajv({ allowUnionTypes: true, strictRequired: false })
addFormats.default(ajv)
const validators = new Map(Object.entries(EVENTS).map(([name, schema]) => [name, ajv.compile(schema)]))

export interface ReadEvent<Name extends EventName = EventName> {
  id: string
  name: Name
  data: EventData[Name]
}

export class EventReader {
  readonly #response: IncomingMessage
  readonly #pieces: AsyncIterator<Buffer>
  readonly #decoder = new TextDecoder()
  readonly #events: ReadEvent[] = []
  readonly #parser = createParser({
    onEvent: ({ id, event, data }) => this.#events.push(readEvent(id!, event as EventName, data)),
    onComment: () => {
      this.comments += 1
    },
  })
  comments = 0

  constructor(response: IncomingMessage) {
    this.#response = response
    this.#pieces = response[Symbol.asyncIterator]()
  }

  /** On a connection of its own, which ends with it. */
  static async open(t: TestContext, url: string, headers: Record<string, string>): Promise<EventReader> {
    const request = get(url, { agent: false, headers: { accept: 'text/event-stream', ...headers } })
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    assert.equal(response.statusCode, 200)
    assert.equal(response.headers['content-type'], 'text/event-stream; charset=utf-8')
    const reader = new EventReader(response)
    cleanUp(t, () => reader.close())
    return reader
  }

  /**
   * The next event, of this name if one is given; null: the stream has ended. Each event is checked against the
   * contract.
   */
  async next<Name extends EventName>(name?: Name): Promise<ReadEvent<Name> | null> {
    while (true) {
      const event = await this.#nextEvent()
      if (event === null || name === undefined || event.name === name) return event as ReadEvent<Name> | null
    }
  }

  /** Of an event that must come. */
  async data<Name extends EventName>(name: Name): Promise<EventData[Name]> {
    const event = await this.next(name)
    assert(event !== null, `the stream ended before ${name}`)
    return event.data
  }

  close(): void {
    this.#response.destroy()
  }

  async #nextEvent(): Promise<ReadEvent | null> {
    while (this.#events.length === 0) {
      const { done, value } = await this.#pieces.next()
      if (done === true) return null
      this.#parser.feed(this.#decoder.decode(value, { stream: true }))
    }
    return this.#events.shift()!
  }
}

function readEvent(id: string, name: EventName, text: string): ReadEvent {
  const data = JSON.parse(text)
  const validate = validators.get(name)!
  assert(validate(data), `${name}: ${ajv.errorsText(validate.errors)}`)
  return { id, name, data }
}
