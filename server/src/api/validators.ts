// Compiles the contract's schemas. Bodies are taken as they are: nothing is coerced, dropped or defaulted behind
// the client's back. Query strings and path parameters are text, so there whole numbers and booleans are read from
// it, strictly: ajv's own coercion takes "Infinity", "0x10" and " 5 " for numbers.
import { Ajv, type AnySchemaObject } from 'ajv'
import addFormats from 'ajv-formats'
import type { FastifySchemaCompiler, FastifySchemaValidationError } from 'fastify'

const options = {
  coerceTypes: false,
  removeAdditional: false,
  useDefaults: true,
  discriminator: true,
  strictRequired: false,
  allowUnionTypes: true,
} as const

export function createValidatorCompiler(): FastifySchemaCompiler<AnySchemaObject> {
  const ajv = new Ajv(options)
  addFormats.default(ajv)
  return ({ schema, httpPart }) => {
    const validate = ajv.compile(schema)
    if (httpPart === 'body') return validate
    const properties: Record<string, AnySchemaObject> = schema['properties'] ?? {}
    return (data: Record<string, unknown>) => {
      for (const [name, { type }] of Object.entries(properties)) {
        if (typeof data[name] === 'string') data[name] = readText(data[name], type)
      }
      return validate(data) ? { value: data } : { error: validate.errors as FastifySchemaValidationError[] }
    }
  }
}

/** What is not written as its type says stays text, which validation then refuses. */
function readText(text: string, type: unknown): unknown {
  if (type === 'integer' && /^-?\d{1,15}$/.test(text)) return Number(text)
  if (type === 'boolean' && (text === 'true' || text === 'false')) return text === 'true'
  return text
}
