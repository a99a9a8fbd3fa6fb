// The expectation of a schema in words for people: the words beside it in the contract (`x-expected`), or a phrase made
// of its keywords. Each completes the sentence "must be …".

/** The keywords that a schema of a request uses; schemas.test.ts refuses any other. */
export interface RequestSchema {
  type?: string | readonly string[]
  enum?: readonly unknown[]
  const?: unknown
  minLength?: number
  maxLength?: number
  pattern?: string
  format?: string
  minimum?: number
  maximum?: number
  minItems?: number
  maxItems?: number
  uniqueItems?: boolean
  items?: RequestSchema
  minProperties?: number
  maxProperties?: number
  required?: readonly string[]
  properties?: Readonly<Record<string, RequestSchema>>
  additionalProperties?: boolean | RequestSchema
  'x-expected'?: string
}

export function typesOf({ type = [] }: RequestSchema): readonly string[] {
  return typeof type === 'string' ? [type] : type
}

export function expectationOf(schema: RequestSchema): string {
  const { enum: choices, const: only, 'x-expected': words } = schema
  if (words !== undefined) return typesOf(schema).includes('null') ? `${words}, or null` : words
  if (only !== undefined) return JSON.stringify(only)
  if (choices !== undefined)
    return choices.length === 1 ? String(choices[0]) : `one of ${choices.map(String).join(', ')}`
  return typesOf(schema)
    .map((type) => phrases[type]!(schema))
    .join(' or ')
}

const phrases: Readonly<Record<string, (schema: RequestSchema) => string>> = {
  string: ({ minLength, maxLength }) => `a string${counted(minLength, maxLength, 'character')}`,
  integer: ({ minimum, maximum }) => `a whole number${range(minimum, maximum)}`,
  number: ({ minimum, maximum }) => `a number${range(minimum, maximum)}`,
  boolean: () => 'true or false',
  array: ({ minItems, maxItems }) => `an array${counted(minItems, maxItems, 'item')}`,
  object: ({ minProperties, maxProperties }) => `an object${counted(minProperties, maxProperties, 'field')}`,
  null: () => 'null',
}

/** The kind of a given value: its content may be a secret. */
export function kindOf(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'an array'
  if (typeof value === 'number') return Number.isInteger(value) ? 'a whole number' : 'a fraction'
  if (typeof value === 'boolean') return String(value)
  return typeof value === 'object' ? 'an object' : 'a string'
}

function range(min: number | undefined, max: number | undefined): string {
  if (min !== undefined && max !== undefined) return ` from ${shown(min)} to ${shown(max)}`
  if (max !== undefined) return ` of at most ${shown(max)}`
  return min === undefined ? '' : ` of at least ${shown(min)}`
}

function counted(min = 0, max: number | undefined, noun: string): string {
  if (max === undefined) return min === 0 ? '' : ` of at least ${count(min, noun)}`
  if (min === max) return ` of ${count(max, noun)}`
  return min === 0 ? ` of at most ${count(max, noun)}` : ` of ${shown(min)} to ${count(max, noun)}`
}

export function count(value: number, noun: string): string {
  return `${shown(value)} ${noun}${value === 1 ? '' : 's'}`
}

/** 10000 as 10,000. Not toLocaleString: it takes longer than finding the error. */
function shown(value: number): string {
  return Number.isInteger(value) ? String(value).replace(/\B(?=(\d{3})+$)/g, ',') : String(value)
}
