// Server-sent events over fetch: text that arrives in pieces becomes events.
import { createParser, type EventSourceMessage } from 'eventsource-parser'

export interface ServerEvent {
  id: string | null
  name: string
  /** Parsed JSON. */
  data: unknown
}

/** An event beyond this is not one of ours. */
const eventLengthMax = 4 * 1024 * 1024

export async function* readEvents(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<ServerEvent> {
  const decoder = new TextDecoder()
  const events: EventSourceMessage[] = []
  const parser = createParser({
    maxBufferSize: eventLengthMax,
    onEvent: (event) => events.push(event),
    onError: (error) => {
      if (error.type === 'max-buffer-size-exceeded') throw error
    },
  })
  for await (const chunk of chunks) {
    parser.feed(decoder.decode(chunk, { stream: true }))
    for (const { id = null, event: name = 'message', data } of events.splice(0))
      yield { id, name, data: JSON.parse(data) }
  }
}
