// Compiles the contract's schemas. Bodies are taken as they are: nothing is coerced, dropped or defaulted behind the
// client's back. Query strings and path parameters are text, so there whole numbers and booleans are read from it,
// strictly: ajv's own coercion takes "Infinity", "0x10" and " 5 " for numbers. Only headers that the schema names are
// checked, under the names it gives them.
import type { FieldError } from '@carillon/contract/problem.ts'
import { Ajv, type AnySchemaObject, type ValidateFunction } from 'ajv'
import addFormats from 'ajv-formats'
import type { FastifySchemaCompiler } from 'fastify'
import { OnceByText } from '../../lib/once-by-text.ts'
import { findErrors, type Part } from './find-errors.ts'
import { Findings, SchemaRefusal } from './findings.ts'
import type { RequestSchema } from './schema-words.ts'

const options = {
  coerceTypes: false,
  removeAdditional: false,
  useDefaults: false,
  discriminator: true,
  strictRequired: false,
  allowUnionTypes: true,
} as const

type Fields = Record<string, unknown>
/** Null: the value is as its schema has it. */
type Validator = (value: unknown) => Findings | null

const ajv = new Ajv(options)
addFormats.default(ajv)
ajv.addVocabulary(['x-expected'])
/** Once in a process: routes share schemas, and every app has the same ones. */
const compiled = new OnceByText<ValidateFunction>()

/**
 * Compiles a schema when the first value comes: all of them would take a fifth of the time of a start. Mistakes are
 * looked for only in a value that is refused.
 */
export function createValidator(schema: AnySchemaObject, part: Part = 'body'): Validator {
  let validate: ValidateFunction | undefined
  return (value) => {
    validate ??= compiled.get(schema, () => ajv.compile(schema))
    return validate(value) ? null : explain(schema, value, part)
  }
}

function explain(schema: AnySchemaObject, value: unknown, part: Part): Findings {
  const findings = new Findings()
  findErrors(schema as RequestSchema, value, { findings, part, hasFormat })
  // For a keyword that `findErrors` does not know. A test refuses one.
  if (findings.count === 0) findings.add({ pointer: '', detail: 'is not valid' })
  return findings
}

const formats = new OnceByText<ValidateFunction>()

function hasFormat(format: string, text: string): boolean {
  return formats.get(format, () => ajv.compile({ type: 'string', format }))(text)
}

export function createValidatorCompiler(): FastifySchemaCompiler<AnySchemaObject> {
  return ({ schema, httpPart }) => {
    const part = httpPart as Part
    const validate = createValidator(schema, part)
    const judge = (value: unknown, findings: Findings | null) =>
      findings === null ? { value } : { error: new SchemaRefusal(findings, part) }
    if (part === 'body') return (body: unknown) => judge(body, validate(body))
    const properties: Record<string, AnySchemaObject> = schema['properties'] ?? {}
    if (part === 'headers') {
      return (headers: Fields) => judge(headers, validate(pickHeaders(headers, Object.keys(properties))))
    }
    return (parameters: Fields) => {
      const unread = readParameters(parameters, properties)
      const refused = validate(parameters)
      if (unread === null) return judge(parameters, refused)
      if (refused !== null) unread.addAll(refused)
      return judge(parameters, unread)
    }
  }
}

/** In place. Null: each could be read. */
function readParameters(parameters: Fields, properties: Record<string, AnySchemaObject>): Findings | null {
  let findings: Findings | null = null
  for (const [name, { type }] of Object.entries(properties)) {
    const text = parameters[name]
    const error =
      Array.isArray(text) && type !== 'array'
        ? repeatError(name, text.length)
        : typeof text === 'string' && text.includes('\0')
          ? nulError(name)
          : null
    if (error !== null) {
      findings ??= new Findings()
      findings.add(error)
    } else if (typeof text === 'string') parameters[name] = readText(text, type)
  }
  return findings
}

/** PostgreSQL takes no NUL; in a body it is refused when that is read. */
function nulError(pointer: string): FieldError {
  return { pointer, detail: 'has a NUL character', code: 'WRONG_FORMAT' }
}

/** Whichever of the values were taken, the caller may have meant another. */
function repeatError(pointer: string, count: number): FieldError {
  const times = count === 2 ? 'twice' : `${count} times`
  return { pointer, detail: `is given ${times}; give it once`, code: 'REPEATED' }
}

function pickHeaders(headers: Fields, names: readonly string[]): Fields {
  const picked: Fields = {}
  for (const name of names) {
    const value = headers[name.toLowerCase()]
    if (value !== undefined) picked[name] = value
  }
  return picked
}

/** A text that is not written as its type requires stays text, which validation then refuses. */
function readText(text: string, type: unknown): unknown {
  if (type === 'integer' && /^-?\d{1,15}$/.test(text)) return Number(text)
  if (type === 'boolean' && (text === 'true' || text === 'false')) return text === 'true'
  return text
}
