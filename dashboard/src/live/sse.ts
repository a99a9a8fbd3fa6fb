// Server-sent events out of the pieces of a stream, by eventsource-parser; each with the last id that was sent.
import { createParser } from 'eventsource-parser'

export interface SseEvent {
  id: string | null
  type: string
  data: string
}

/** An event that is longer is dropped, so that a broken stream cannot fill the memory. */
const eventCharsMax = 4_000_000
/** The type that the rest of a dropped event gets. */
const dropped = 'carillon-dropped'

export function createSseParser(onEvent: (event: SseEvent) => void): (text: string) => void {
  let id: string | null = null
  let isTooLong = false
  const parser = createParser({
    maxBufferSize: eventCharsMax,
    onId: (sent) => {
      id = sent
    },
    onEvent: ({ event = 'message', data }) => {
      if (event !== dropped) onEvent({ id, type: event, data })
    },
    onError: ({ type }) => {
      isTooLong ||= type === 'max-buffer-size-exceeded'
    },
  })
  return (text) => {
    parser.feed(text)
    if (!isTooLong) return
    isTooLong = false
    parser.reset()
    parser.feed(`event: ${dropped}\n`)
  }
}
