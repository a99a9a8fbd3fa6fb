// The parts of our OpenAPI document that the reference page reads.

export interface DocSchema {
  $ref?: string
  type?: string | readonly string[]
  description?: string
  properties?: Record<string, DocSchema>
  required?: readonly string[]
  additionalProperties?: boolean | DocSchema
  items?: DocSchema
  enum?: readonly unknown[]
  const?: unknown
  oneOf?: readonly DocSchema[]
  anyOf?: readonly DocSchema[]
  allOf?: readonly DocSchema[]
  format?: string
  minLength?: number
  maxLength?: number
  minimum?: number
  maximum?: number
  minItems?: number
  maxItems?: number
  maxProperties?: number
  default?: unknown
  example?: unknown
  examples?: readonly unknown[]
  deprecated?: boolean
}

export interface DocParameter {
  in: string
  name: string
  required?: boolean
  description?: string
  schema?: DocSchema
}

export interface DocMedia {
  schema?: DocSchema
  example?: unknown
  examples?: Record<string, { value: unknown }>
}

export interface DocOperation {
  summary?: string
  description?: string
  tags?: readonly string[]
  security?: readonly unknown[]
  parameters?: readonly DocParameter[]
  requestBody?: { content: Record<string, DocMedia> }
  responses?: Record<string, { description?: string; content?: Record<string, DocMedia> }>
}

export interface Document {
  info: { title: string; version: string; description?: string }
  tags?: readonly { name: string; description?: string }[]
  paths?: Record<string, Record<string, DocOperation>>
  components?: { schemas?: Record<string, DocSchema> }
}

/** Deeper than any schema of ours: one that holds itself must come to an end. */
export const schemaDepthMax = 12

/** The schema that a `$ref` stands for; only references into the components are ours. */
export function resolve(document: Document, schema: DocSchema): DocSchema {
  const name = nameOf(schema)
  if (name === null) return schema
  const { $ref, ...beside } = schema
  return { ...document.components?.schemas?.[name], ...beside }
}

/** The name that a `$ref` goes by. */
export function nameOf({ $ref }: DocSchema): string | null {
  return $ref?.split('/').at(-1) ?? null
}

export function typesOf({ type, properties, items }: DocSchema): readonly string[] {
  if (type !== undefined) return [type].flat()
  if (properties !== undefined) return ['object']
  return items === undefined ? [] : ['array']
}
