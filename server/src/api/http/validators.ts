// Compiles the contract's schemas. Bodies are taken as they are: nothing is coerced, dropped or defaulted behind the
// client's back. Query strings and path parameters are text, so there whole numbers and booleans are read from it,
// strictly: ajv's own coercion takes "Infinity", "0x10" and " 5 " for numbers. Only headers that the schema names are
// checked, under the names it gives them.
import { Ajv, type AnySchemaObject, type ValidateFunction } from 'ajv'
import addFormats from 'ajv-formats'
import type { FastifySchemaCompiler, FastifySchemaValidationError } from 'fastify'
import { OnceByText } from '../../lib/once-by-text.ts'

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
type Validator = (data: unknown) => FastifySchemaValidationError[] | null

const ajv = new Ajv(options)
addFormats.default(ajv)
/** Once in a process: routes share schemas, and every app has the same ones. */
const compiled = new OnceByText<ValidateFunction>()

/** Compiles a schema when the first value comes: all of them would take a fifth of the time of a start. */
export function createValidator(schema: AnySchemaObject): Validator {
  let validate: ValidateFunction | undefined
  return (data) => {
    validate ??= compiled.get(schema, () => ajv.compile(schema))
    return validate(data) ? null : (validate.errors as FastifySchemaValidationError[])
  }
}

export function createValidatorCompiler(): FastifySchemaCompiler<AnySchemaObject> {
  return ({ schema, httpPart }) => {
    const validate = createValidator(schema)
    const judge = (data: unknown, read: unknown) => {
      const errors = validate(read)
      return errors === null ? { value: data } : { error: errors }
    }
    if (httpPart === 'body') return (data: unknown) => judge(data, data)
    const properties: Record<string, AnySchemaObject> = schema['properties'] ?? {}
    if (httpPart === 'headers') {
      return (data: Fields) => judge(data, pickHeaders(data, Object.keys(properties)))
    }
    return (data: Fields) => {
      for (const [name, { type }] of Object.entries(properties)) {
        const text = data[name]
        if (Array.isArray(text) && type !== 'array') return { error: [repeatError(name, text.length)] }
        if (typeof text !== 'string') continue
        if (text.includes('\0')) return { error: [nulError(name)] }
        data[name] = readText(text, type)
      }
      return judge(data, data)
    }
  }
}

/** PostgreSQL takes no NUL; in a body it is refused when that is read. */
function nulError(name: string): FastifySchemaValidationError {
  const place = { keyword: 'pattern', instancePath: `/${name}`, schemaPath: '', params: {} }
  return { ...place, message: 'has a NUL character' }
}

/** Whichever of the values were taken, the caller may have meant another. */
function repeatError(name: string, count: number): FastifySchemaValidationError {
  const place = { keyword: 'type', instancePath: `/${name}`, schemaPath: '', params: {} }
  const times = count === 2 ? 'twice' : `${count} times`
  return { ...place, message: `is given ${times}; give it once` }
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
