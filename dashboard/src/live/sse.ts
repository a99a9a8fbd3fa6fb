// Reads server-sent events out of the pieces that arrive, however they are cut.

export interface SseEvent {
  id: string | null
  type: string
  data: string
}

/** Of one event; a longer one is dropped, so that a broken stream cannot fill the memory. */
const eventCharsMax = 4_000_000

export function createSseParser(onEvent: (event: SseEvent) => void): (text: string) => void {
  let rest = ''
  let id: string | null = null
  let type = ''
  let data: string[] = []
  let chars = 0
  return (text) => {
    rest += text
    if (rest.length > eventCharsMax) rest = ''
    const lines = rest.split(/\r\n|\n|\r(?!$)/)
    rest = lines.pop()!
    for (const line of lines) takeLine(line)
  }

  function takeLine(line: string): void {
    if (line === '') {
      if (data.length > 0 && chars <= eventCharsMax)
        onEvent({ id, type: type || 'message', data: data.join('\n') })
      type = ''
      data = []
      chars = 0
      return
    }
    if (line.startsWith(':')) return
    const colon = line.indexOf(':')
    const field = colon < 0 ? line : line.slice(0, colon)
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '')
    if (field === 'data') {
      chars += value.length
      if (chars <= eventCharsMax) data.push(value)
    } else if (field === 'event') type = value
    else if (field === 'id') id = value
  }
}
