// Compiles the contract's schemas. Bodies are taken as they are: nothing is coerced, dropped or defaulted behind
// the client's back. Query strings and path parameters are text, so there numbers and booleans are read from it.
import { Ajv } from 'ajv'
import addFormats from 'ajv-formats'
import type { FastifySchemaCompiler } from 'fastify'

const options = {
  removeAdditional: false,
  useDefaults: true,
  discriminator: true,
  strictRequired: false,
} as const

export function createValidatorCompiler(): FastifySchemaCompiler<object> {
  const exact = new Ajv({ ...options, coerceTypes: false })
  const coercing = new Ajv({ ...options, coerceTypes: true })
  for (const ajv of [exact, coercing]) addFormats.default(ajv)
  return ({ schema, httpPart }) => (httpPart === 'body' ? exact : coercing).compile(schema)
}
