// Whether a text is JSON that the server would take as a payload.

const payloadBytesMax = 256 * 1_024

export function checkJson(
  text: string,
): { value: unknown; error: null } | { value: undefined; error: string } {
  try {
    const value: unknown = JSON.parse(text)
    const bytes = new TextEncoder().encode(JSON.stringify(value)).length
    if (bytes > payloadBytesMax) return { value: undefined, error: 'It is larger than 256 KB.' }
    return { value, error: null }
  } catch (error) {
    return { value: undefined, error: `Not JSON: ${error instanceof Error ? error.message : String(error)}` }
  }
}
