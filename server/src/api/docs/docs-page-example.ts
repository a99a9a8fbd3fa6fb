// Sample values for the reference page, from the examples of the document or from its schemas.
import {
  type DocMedia,
  type DocSchema,
  type Document,
  resolve,
  schemaDepthMax,
  typesOf,
} from './docs-page-document.ts'

/** The example that the document gives, else one made from the schema. */
export function exampleOf(document: Document, { example, examples, schema = {} }: DocMedia): unknown {
  if (example !== undefined) return example
  const first = Object.values(examples ?? {})[0]
  return first === undefined ? sampleOf(document, schema, '') : first.value
}

export function sampleOf(document: Document, given: DocSchema, name: string, depth = 0): unknown {
  const schema = resolve(document, given)
  const { example, examples, oneOf, anyOf, allOf } = schema
  if (example !== undefined) return example
  if (examples?.[0] !== undefined) return examples[0]
  if (schema.const !== undefined) return schema.const
  if (schema.enum !== undefined) return schema.enum[0]
  if (schema.default !== undefined) return schema.default
  const branch = (oneOf ?? anyOf)?.[0]
  if (branch !== undefined) return sampleOf(document, branch, name, depth + 1)
  if (allOf !== undefined) {
    return Object.assign({}, ...allOf.map((part) => sampleOf(document, part, name, depth + 1)))
  }
  const type = typesOf(schema).find((one) => one !== 'null')
  if (type === 'object') return sampleObject(document, schema, depth)
  if (type === 'array')
    return depth > schemaDepthMax
      ? []
      : [sampleOf(document, schema.items ?? {}, name.replace(/s$/, ''), depth + 1)]
  if (type === 'integer' || type === 'number') return sampleNumber(schema, name)
  if (type === 'boolean') return false
  if (type === 'string') return sampleText(schema, name)
  return {}
}

/** The required fields; if there are none, the first fields: all of them together would often contradict each other. */
function sampleObject(document: Document, schema: DocSchema, depth: number): unknown {
  if (depth > schemaDepthMax) return {}
  const { required = [] } = schema
  const entries = Object.entries(schema.properties ?? {})
  const chosen = required.length > 0 ? entries.filter(([key]) => required.includes(key)) : entries.slice(0, 2)
  return Object.fromEntries(chosen.map(([key, one]) => [key, sampleOf(document, one, key, depth + 1)]))
}

const instant = '2026-03-01T10:00:00Z'
const id = '0192abcd-ef01-7000-8000-0000000000aa'

/** Usual values of fields by name: an example made of "string" tells nobody anything. */
const texts: Readonly<Record<string, string>> = {
  name: 'Daily Sales Report',
  description: 'Generate and email the daily report',
  timezone: 'America/New_York',
  cron_expression: '0 10 * * *',
  interval: 'PT15M',
  callback_url: 'http://127.0.0.1:7420/echo',
  host: 'worker-1',
  version: '0.1.0',
  tag: 'reporting',
  method: 'POST',
  path: '/echo',
  message: 'connection refused',
  reason: 'maintenance',
}

function sampleText({ format, maxLength = 40 }: DocSchema, name: string): string {
  if (format === 'uuid' || /_id$|^id$/.test(name)) return id
  if (format === 'date-time' || /_at$|_time$|_timestamp$|^last_heartbeat$/.test(name)) return instant
  if (format === 'date' || /_date$|^date$/.test(name)) return instant.slice(0, 10)
  if (Object.hasOwn(texts, name)) return texts[name]!
  return (name === '' ? 'text' : name.replaceAll('_', ' ')).slice(0, maxLength)
}

function sampleNumber({ minimum = 0, maximum }: DocSchema, name: string): number {
  const usual = /status$/.test(name) ? 200 : /_ms$/.test(name) ? 250 : /^(limit|total)$/.test(name) ? 50 : 1
  return Math.max(minimum, maximum === undefined ? usual : Math.min(usual, maximum))
}
