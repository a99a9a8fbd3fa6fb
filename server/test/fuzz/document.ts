// The parts of an OpenAPI 3.1 document that the fuzz reads.

export interface Schema {
  $ref?: string
  type?: string | readonly string[]
  properties?: Record<string, Schema>
  patternProperties?: Record<string, Schema>
  required?: readonly string[]
  additionalProperties?: boolean | Schema
  propertyNames?: Schema
  minProperties?: number
  maxProperties?: number
  items?: Schema
  minItems?: number
  maxItems?: number
  uniqueItems?: boolean
  enum?: readonly unknown[]
  const?: unknown
  minLength?: number
  maxLength?: number
  pattern?: string
  format?: string
  minimum?: number
  maximum?: number
  exclusiveMinimum?: number
  exclusiveMaximum?: number
  multipleOf?: number
  oneOf?: readonly Schema[]
  anyOf?: readonly Schema[]
  allOf?: readonly Schema[]
  default?: unknown
  examples?: readonly unknown[]
}

export interface Parameter {
  in: 'path' | 'query' | 'header' | 'cookie'
  name: string
  required?: boolean
  schema: Schema
}

export interface MediaType {
  schema?: Schema
  example?: unknown
  examples?: Record<string, { value: unknown }>
}

type Content = Record<string, MediaType>

interface OperationObject {
  parameters?: Parameter[]
  requestBody?: { required?: boolean; content: Content }
  security?: unknown[]
  responses: Record<string, { content?: Content }>
}

export interface OpenApiDocument {
  paths: Record<string, Record<string, OperationObject>>
}

export interface Operation {
  /** As people write it: `GET /livez`. */
  name: string
  method: string
  path: string
  /** JSON Pointer to it in the document. */
  pointer: string
  parameters: readonly Parameter[]
  body: { required: boolean; content: Content } | null
  /** By an API key. */
  secured: boolean
  /** By the token of an attempt. */
  tokened: boolean
  responses: OperationObject['responses']
}

const methods = ['get', 'put', 'post', 'delete', 'patch', 'head', 'options']

export function operationsOf(document: OpenApiDocument): Operation[] {
  return Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item)
      .filter(([method]) => methods.includes(method))
      .map(([method, one]) => ({
        name: `${method.toUpperCase()} ${path}`,
        method: method.toUpperCase(),
        path,
        pointer: `/paths/${escapePointer(path)}/${method}`,
        parameters: one.parameters ?? [],
        body: one.requestBody
          ? { required: one.requestBody.required === true, content: one.requestBody.content }
          : null,
        secured: isOpenedBy(one, 'bearer'),
        tokened: isOpenedBy(one, 'attemptToken'),
        responses: one.responses,
      })),
  )
}

function isOpenedBy({ security = [] }: OperationObject, scheme: string): boolean {
  return security.some((one) => scheme in (one as object))
}

/** The schema that a `$ref` stands for. */
export function resolveSchema(document: OpenApiDocument, schema: Schema): Schema {
  const { $ref, ...beside } = schema
  if ($ref === undefined) return schema
  let at: unknown = document
  for (const key of $ref.replace(/^#\/?/, '').split('/').filter(Boolean)) {
    at = (at as Record<string, unknown> | undefined)?.[key.replaceAll('~1', '/').replaceAll('~0', '~')]
  }
  if (at === undefined) throw new Error(`the document has nothing at ${$ref}`)
  return { ...resolveSchema(document, at as Schema), ...beside }
}

export function examplesOf(media: MediaType): unknown[] {
  const named = Object.values(media.examples ?? {}).map(({ value }) => value)
  return media.example === undefined ? named : [media.example, ...named]
}

export function escapePointer(key: string): string {
  return key.replaceAll('~', '~0').replaceAll('/', '~1')
}
