// JSON texts in answers, such as payloads: written as the store gave them, neither parsed nor written anew.
import type { JsonText } from '../../ports/pages.ts'

/** In place of a value of an answer. Its field must have a schema without a type. */
export class RawJson {
  readonly #text: JsonText

  constructor(text: JsonText) {
    this.#text = text
  }

  // Half of a surrogate pair: no other text of an answer has one, for no request may, and PostgreSQL stores none. Written
  // as JSON it is `"\ud800` behind a quote, which no text with a backslash of its own looks like.
  toJSON(): string {
    return `\ud800${texts.push(this.#text) - 1}`
  }
}

const place = /"\\ud800(\d+)"/g

/** Of the answer that is being written. */
let texts: JsonText[] = []

/** A serializer that knows `RawJson`. */
export function withRawJson(serialize: (answer: unknown) => string): (answer: unknown) => string {
  return (answer) => {
    texts = []
    const json = serialize(answer)
    if (texts.length === 0) return json
    const written = texts
    texts = []
    return json.replace(place, (_place, index: string) => written[Number(index)]!)
  }
}

/** A field of an answer; none if the text is null. */
export function rawField<Name extends string>(name: Name, text: JsonText | null): { [K in Name]?: RawJson } {
  return text === null ? {} : ({ [name]: new RawJson(text) } as { [K in Name]?: RawJson })
}
