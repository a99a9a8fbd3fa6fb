// Shapes that several replies share. JSON Schema as it is: `type: [X, 'null']` instead of a union, which the
// serialiser writes without trying each branch, and `additionalProperties` instead of a pattern, which misses keys
// with a line break.
import Type from 'typebox'

export const instant = (description: string) => Type.String({ format: 'date-time', description })

export const instantOrNull = (description: string) =>
  Type.Unsafe<string | null>({ type: ['string', 'null'], format: 'date-time', description })

export const textOrNull = (description: string) =>
  Type.Unsafe<string | null>({ type: ['string', 'null'], description })

export const integerOrNull = (description: string) =>
  Type.Unsafe<number | null>({ type: ['integer', 'null'], description })

/** An object of texts under any names. */
export const texts = (options: { maxProperties: number; maxLength: number; description: string }) => {
  const { maxLength, ...rest } = options
  return Type.Unsafe<Record<string, string>>({
    type: 'object',
    additionalProperties: { type: 'string', maxLength },
    ...rest,
  })
}

/** A UUID in a request: only in the plain form, because `format` alone takes `urn:uuid:` too. */
export const uuidGiven = (description: string) =>
  Type.String({
    pattern: '^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$',
    format: 'uuid',
    description,
  })

/** Any JSON, taken and given back as it is. */
export const anyJson = (description: string) => Type.Unsafe<unknown>({ description })

interface JsonSchema {
  type?: string | readonly string[]
  enum?: readonly unknown[]
  const?: unknown
  properties?: Record<string, JsonSchema>
  additionalProperties?: boolean | JsonSchema
  [keyword: string]: unknown
}

/** The merge patch of an object: nothing is required, nothing has a default, and everything may be null. */
export function mergePatchOf(schema: object): JsonSchema {
  const { required: _required, examples: _examples, ...rest } = schema as JsonSchema
  return { ...rest, properties: patchedProperties(rest.properties) }
}

function patchedProperties(properties: Record<string, JsonSchema> = {}): Record<string, JsonSchema> {
  return Object.fromEntries(Object.entries(properties).map(([name, value]) => [name, orNull(value)]))
}

function orNull(schema: JsonSchema): JsonSchema {
  const { default: _default, required: _required, const: only, ...rest } = schema
  if (rest.type === undefined) return rest
  const patch: JsonSchema = { ...rest, type: [rest.type, 'null'].flat() }
  if (only !== undefined) patch.enum = [only, null]
  if (rest.enum !== undefined) patch.enum = [...rest.enum, null]
  if (rest.properties !== undefined) patch.properties = patchedProperties(rest.properties)
  if (typeof rest.additionalProperties === 'object')
    patch.additionalProperties = orNull(rest.additionalProperties)
  return patch
}
