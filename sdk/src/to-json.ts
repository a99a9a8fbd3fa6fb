// JSON as the server takes it: PostgreSQL keeps no NUL and no half of a surrogate pair, so they are replaced here and the
// work of a handler is not lost over a stray character.

/** Null: it has no JSON, as undefined or a function. Throws for values that cannot be written, such as a cycle. */
export function toJson(value: unknown): string | null {
  const text = JSON.stringify(value)
  if (text === undefined) return null
  // Only texts that have such an escape pay for the second look; `\\u0000` in a text is none.
  if (!/\\u(?:0000|d[89a-f])/i.test(text)) return text
  return JSON.stringify(cleanValue(JSON.parse(text)))
}

/** Without NUL and halves of pairs, and at most so many characters. */
export function cleanText(text: string, lengthMax = Number.POSITIVE_INFINITY): string {
  const cut = text.length > lengthMax ? `${text.slice(0, lengthMax - 1)}…` : text
  return cut.replaceAll('\u0000', '\ufffd').toWellFormed()
}

function cleanValue(value: unknown): unknown {
  if (typeof value === 'string') return cleanText(value)
  if (Array.isArray(value)) return value.map(cleanValue)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [cleanText(name), cleanValue(one)]))
}
