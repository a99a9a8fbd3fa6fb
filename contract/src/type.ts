// The schema builders of the contract, typed by typebox: each returns the plain JSON Schema that typebox's builder of the
// same name would. Only typebox's types are used, because its package loads 373 modules in 0.2 s of CPU, a third of a
// server's start. It is imported whole, as `Type`; type.test.ts holds it equal to typebox.
import type Typebox from 'typebox'

export type {
  Static,
  TNumberOptions,
  TOptional,
  TProperties,
  TSchema,
  TSchemaOptions,
  TString,
  TStringOptions,
  TUnsafe,
} from 'typebox'

type Builder<Name extends keyof typeof Typebox> = (typeof Typebox)[Name]
type Options = object | undefined

/** Fields that an object may leave out. */
const optional = new WeakSet<object>()

const build = (keywords: object) => (options: Options) => ({ ...keywords, ...options })

const buildString = build({ type: 'string' }) as Builder<'String'>
const buildInteger = build({ type: 'integer' }) as Builder<'Integer'>
const buildNumber = build({ type: 'number' }) as Builder<'Number'>
const buildBoolean = build({ type: 'boolean' }) as Builder<'Boolean'>

const buildObject = ((properties: Record<string, object>, options: Options) => {
  const required = Object.keys(properties).filter((name) => !optional.has(properties[name]!))
  return { type: 'object', ...(required.length > 0 && { required }), properties, ...options }
}) as unknown as Builder<'Object'>

const buildArray = ((items: object, options: Options) => ({
  type: 'array',
  items,
  ...options,
})) as Builder<'Array'>

const buildRecord = ((_names: object, value: object, options: Options) => ({
  type: 'object',
  patternProperties: { '^.*$': value },
  ...options,
})) as unknown as Builder<'Record'>

const buildEnum = ((values: readonly string[], options: Options) => ({
  enum: values,
  ...options,
})) as unknown as Builder<'Enum'>

const buildLiteral = ((value: string, options: Options) => ({
  type: typeof value,
  const: value,
  ...options,
})) as Builder<'Literal'>

const makeOptional = ((schema: object) => {
  const copy = { ...schema }
  optional.add(copy)
  return copy
}) as Builder<'Optional'>

const typeByHand = ((schema: object) => ({ ...schema })) as unknown as Builder<'Unsafe'>

export {
  buildArray as Array,
  buildBoolean as Boolean,
  buildEnum as Enum,
  buildInteger as Integer,
  buildLiteral as Literal,
  buildNumber as Number,
  buildObject as Object,
  buildRecord as Record,
  buildString as String,
  makeOptional as Optional,
  typeByHand as Unsafe,
}
