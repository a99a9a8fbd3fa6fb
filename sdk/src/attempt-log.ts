// The lines of an attempt on their way to the server: numbered, so that a part that is sent twice is kept once.
import { cleanText } from './to-json.ts'

/** The server keeps so much of an attempt; a little more lets it see that there was more. */
const bytesMax = 256 * 1024 + 8_192
const lineLengthMax = 8_192
/** The server counts this much for a line, besides its text. */
const lineBytes = 32

export interface LogPart {
  json: string
  lines: number
}

export class AttemptLog {
  readonly #lines: string[] = []
  #firstLine = 0
  #bytes = 0

  /** Lines that the server does not have. */
  get waiting(): number {
    return this.#lines.length
  }

  add(level: string, text: string): void {
    if (this.#bytes > bytesMax) return
    const message = cleanText(text, lineLengthMax)
    this.#bytes += Buffer.byteLength(message) + lineBytes
    this.#lines.push(JSON.stringify({ at: new Date().toISOString(), level, message }))
  }

  /** The next lines as the wire has them; null: there are none. */
  next(linesMax: number, lengthMax: number): LogPart | null {
    let length = 0
    let lines = 0
    for (const line of this.#lines) {
      length += line.length + 1
      if (lines === linesMax || (lines > 0 && length > lengthMax)) break
      lines++
    }
    if (lines === 0) return null
    return {
      json: `{"first_line":${this.#firstLine},"lines":[${this.#lines.slice(0, lines).join(',')}]}`,
      lines,
    }
  }

  /** The server has them. */
  forget(lines: number): void {
    this.#lines.splice(0, lines)
    this.#firstLine += lines
  }
}
