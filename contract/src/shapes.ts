// Shapes that several replies share. JSON Schema as it is: `type: [X, 'null']` instead of a union, which the
// serialiser writes without trying each branch, and `additionalProperties` instead of a pattern, which misses keys
// with a line break.
import { expected } from './expected.ts'
import * as Type from './type.ts'

export const strict = { additionalProperties: false } as const

/** An object of these fields and no others. */
export const strictObject = <Fields extends Type.TProperties>(fields: Fields) => Type.Object(fields, strict)

export const describedObject = <Fields extends Type.TProperties>(description: string, fields: Fields) =>
  Type.Object(fields, { ...strict, description })

/** The body of a request, with examples of it. */
export const requestObject = <Fields extends Type.TProperties>(examples: readonly object[], fields: Fields) =>
  Type.Object(fields, { ...strict, examples })

/** Fields that may be left out. */
export const optionalInteger = (options: Type.TNumberOptions = {}) => Type.Optional(Type.Integer(options))
export const optionalText = (options: Type.TStringOptions = {}) => Type.Optional(Type.String(options))
export const optionalFlag = (options: Type.TSchemaOptions = {}) => Type.Optional(Type.Boolean(options))

export const uuid = Type.String({ format: 'uuid' })
export const id = (description: string) => Type.String({ format: 'uuid', description })

export const instant = (description: string) => Type.String({ format: 'date-time', description })

/** A day or an instant in a request: its form is the schedule engine's to judge. */
export const time = (description: string) =>
  Type.String({
    minLength: 10,
    maxLength: 40,
    ...expected('a day such as 2026-01-31, or a time such as 2026-01-31T09:00:00Z'),
    description,
  })

/** An instant in a request, RFC 3339. */
export const instantGiven = (description: string) =>
  Type.String({
    minLength: 20,
    maxLength: 40,
    ...expected('an instant such as 2026-01-31T09:00:00Z'),
    description,
  })

/** The conditions of a list on the time in this field. */
export const dayRange = (field: string) => ({
  start_date: Type.Optional(time(`The first UTC day of \`${field}\` (YYYY-MM-DD), or an RFC 3339 instant.`)),
  end_date: Type.Optional(time(`The last UTC day of \`${field}\`, or an RFC 3339 instant; it is included.`)),
})

/** One of these words. */
export const oneOf = <const Word extends string>(words: readonly Word[], description?: string) =>
  Type.Unsafe<Word>({ enum: [...words], type: 'string', ...(description !== undefined && { description }) })

/** One of these words; `usual` when the field is left out. */
export const oneOfWithDefault = <const Word extends string>(
  words: readonly Word[],
  usual: NoInfer<Word>,
  description?: string,
) => Type.Unsafe<Word>({ ...oneOf(words), default: usual, ...(description !== undefined && { description }) })

export const oneOfOrNull = <const Word extends string>(words: readonly Word[], description?: string) =>
  Type.Unsafe<Word | null>({
    type: ['string', 'null'],
    enum: [...words, null],
    ...(description !== undefined && { description }),
  })

export const orNull = <Schema extends Type.TSchema>(schema: Schema, description?: string) =>
  Type.Unsafe<Type.Static<Schema> | null>({
    ...schema,
    type: ['object', 'null'],
    ...(description !== undefined && { description }),
  })

const nullable =
  <Value>(keywords: object) =>
  (description: string) =>
    Type.Unsafe<Value | null>({ ...keywords, description })

export const textOrNull = nullable<string>({ type: ['string', 'null'] })
export const idOrNull = nullable<string>({ type: ['string', 'null'], format: 'uuid' })
export const instantOrNull = nullable<string>({ type: ['string', 'null'], format: 'date-time' })
export const integerOrNull = nullable<number>({ type: ['integer', 'null'] })
export const numberOrNull = nullable<number>({ type: ['number', 'null'] })

/** How many of each word. */
export const counts = (description: string) =>
  Type.Unsafe<Record<string, number>>({
    type: 'object',
    additionalProperties: { type: 'integer' },
    description,
  })

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
    ...expected('a UUID such as 0198c5a2-7d31-7c44-9a55-3f0e6b1d2c00'),
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
  return Object.fromEntries(Object.entries(properties).map(([name, value]) => [name, patchOf(value)]))
}

function patchOf(schema: JsonSchema): JsonSchema {
  const { default: _default, required: _required, const: only, ...rest } = schema
  if (rest.type === undefined) return rest
  const patch: JsonSchema = { ...rest, type: [rest.type, 'null'].flat() }
  if (only !== undefined) patch.enum = [only, null]
  if (rest.enum !== undefined) patch.enum = [...rest.enum, null]
  if (rest.properties !== undefined) patch.properties = patchedProperties(rest.properties)
  if (typeof rest.additionalProperties === 'object')
    patch.additionalProperties = patchOf(rest.additionalProperties)
  return patch
}
