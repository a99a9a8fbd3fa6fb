// A field in which somebody writes JSON: read, or a sentence that says where it is wrong.

export type ReadJson = { value: unknown; error: null } | { value: null; error: string }

/** Nothing written is `undefined`, which is no JSON and so nothing is sent. */
export function readJson(text: string): ReadJson {
  if (text.trim() === '') return { value: undefined, error: null }
  try {
    return { value: JSON.parse(text), error: null }
  } catch (error) {
    return { value: null, error: `This is not JSON: ${(error as Error).message}` }
  }
}

export function writeJson(value: unknown): string {
  return value === undefined ? '' : JSON.stringify(value, null, 2)
}
