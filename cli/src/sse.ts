// Server-sent events over fetch: text that arrives in pieces becomes events.

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
  let rest = ''
  for await (const chunk of chunks) {
    rest += decoder.decode(chunk, { stream: true }).replaceAll('\r\n', '\n')
    if (rest.length > eventLengthMax) throw new Error('An event of the server is too long.')
    for (let end = rest.indexOf('\n\n'); end >= 0; end = rest.indexOf('\n\n')) {
      const event = readEvent(rest.slice(0, end))
      rest = rest.slice(end + 2)
      if (event !== null) yield event
    }
  }
}

function readEvent(block: string): ServerEvent | null {
  let id: string | null = null
  let name = 'message'
  const data: string[] = []
  for (const line of block.split('\n')) {
    const [, field, value] = /^(\w+): ?(.*)$/.exec(line) ?? []
    if (field === 'id') id = value!
    if (field === 'event') name = value!
    if (field === 'data') data.push(value!)
  }
  // A comment keeps the connection alive and says nothing.
  return data.length === 0 ? null : { id, name, data: JSON.parse(data.join('\n')) }
}
