// The request of an operation as an example, before it is written in a language.
import type { DocOperation, Document } from './docs-page-document.ts'
import { exampleOf, sampleOf } from './docs-page-example.ts'

/** Stands in an example where the page puts the address that it was loaded from. */
export const originMark = 'http://127.0.0.1:7420'

/** The one name of the variable that holds the API key, in the docs, the CLI, the SDK and the dashboard. */
export const keyVariable = 'CARILLON_API_KEY'

/** A piece of text that stands there, or the name of an environment variable. */
export type Piece = { text: string } | { variable: string }

export interface ExampleRequest {
  method: string
  url: Piece[]
  headers: [name: string, value: Piece[]][]
  body: { json: unknown } | { file: string } | null
  /** The answer goes on for as long as the reader listens. */
  isStream: boolean
}

export function requestOf(
  document: Document,
  method: string,
  path: string,
  operation: DocOperation,
): ExampleRequest {
  const { parameters = [], requestBody, responses = {} } = operation
  const required = (place: string) => parameters.filter((one) => one.in === place && one.required === true)
  const query = required('query').map(
    ({ name, schema = {} }) => `${name}=${encodeURIComponent(String(sampleOf(document, schema, name)))}`,
  )
  const filled = piecesOf(path)
  const url: Piece[] = [
    { text: originMark },
    ...filled,
    { text: query.length === 0 ? '' : `?${query.join('&')}` },
  ]
  const [type, media] = Object.entries(requestBody?.content ?? {})[0] ?? []
  const ofRequest = required('header').map(({ name, schema = {} }): ExampleRequest['headers'][0] => [
    name,
    [{ text: name.toLowerCase() === 'if-match' ? '*' : String(sampleOf(document, schema, name)) }],
  ])
  const ofBody: ExampleRequest['headers'] = type === undefined ? [] : [['Content-Type', [{ text: type }]]]
  return {
    method: method.toUpperCase(),
    url: joined(url),
    headers: [...keyHeaders(operation), ...ofRequest, ...ofBody],
    body:
      type === undefined || media === undefined
        ? null
        : /json/.test(type)
          ? { json: exampleOf(document, media) }
          : { file: 'FILE' },
    isStream: Object.values(responses).some(({ content = {} }) => 'text/event-stream' in content),
  }
}

/** Its parameters are variables: `/jobs/{job_id}` has `JOB_ID`, `/calendars/{name}` has `CALENDAR_NAME`. */
function piecesOf(path: string): Piece[] {
  const parts = path.split(/\{([^}]+)\}/)
  return parts.map((part, at) => {
    if (at % 2 === 0) return { text: part }
    const list = parts[at - 1]!.split('/').at(-2) ?? ''
    const isWhole = part.includes('_')
    const owner = list === 'by-key' ? 'job' : list.replace(/s$/, '')
    return { variable: (isWhole ? part : `${owner}_${part}`).replace(/\W/g, '_').toUpperCase() }
  })
}

/** An attempt proves itself by its token, every other request by a key; some need neither. */
function keyHeaders({ security = [] }: DocOperation): ExampleRequest['headers'] {
  const [first] = security as readonly Record<string, unknown>[]
  if (first === undefined) return []
  if ('attemptToken' in first) return [['X-Carillon-Token', [{ variable: 'CARILLON_TOKEN' }]]]
  return [['Authorization', [{ text: 'Bearer ' }, { variable: keyVariable }]]]
}

/** Neighbouring texts as one. */
function joined(pieces: readonly Piece[]): Piece[] {
  const result: Piece[] = []
  for (const piece of pieces) {
    const last = result.at(-1)
    if ('text' in piece && last !== undefined && 'text' in last) last.text += piece.text
    else if (!('text' in piece) || piece.text !== '') result.push({ ...piece })
  }
  return result
}
