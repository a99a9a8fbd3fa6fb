// Server-sent events over fetch: text that arrives in pieces becomes events.

export interface ServerEvent {
  id: string | null
  name: string
  /** Parsed JSON. */
  data: unknown
}

/** An event beyond this is not one of ours. */
const eventLengthMax = 4 * 1024 * 1024
const blank = /\r?\n\r?\n/

export async function* readEvents(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<ServerEvent> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const chunk of chunks) {
    rest += decoder.decode(chunk, { stream: true })
    if (rest.length > eventLengthMax) throw new Error('An event of the server is too long.')
    for (let end = blank.exec(rest); end !== null; end = blank.exec(rest)) {
      const event = readEvent(rest.slice(0, end.index))
      rest = rest.slice(end.index + end[0].length)
      if (event !== null) yield event
    }
  }
}

function readEvent(block: string): ServerEvent | null {
  let id: string | null = null
  let name = 'message'
  const data: string[] = []
  for (const line of block.split(/\r?\n/)) {
    const [, field, value] = /^(\w+): ?(.*)$/.exec(line) ?? []
    if (field === 'id') id = value!
    if (field === 'event') name = value!
    if (field === 'data') data.push(value!)
  }
  // A comment keeps the connection alive and says nothing.
  return data.length === 0 ? null : { id, name, data: JSON.parse(data.join('\n')) }
}
