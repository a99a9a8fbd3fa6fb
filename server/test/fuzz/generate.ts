// Values from a JSON Schema: valid ones, and on the way the places in them where `mutate.ts` can spoil one.
import type { Dice } from './dice.ts'
import { type OpenApiDocument, resolveSchema, type Schema } from './document.ts'
import { oddTexts } from './garbage.ts'
import { sampleText } from './pattern.ts'

export interface GenerateOptions {
  /** A value known to fit a field of this name; undefined: none is known. */
  suggest?: (name: string) => unknown
}

/** A place in a generated value. */
export interface Site {
  name: string
  schema: Schema
  required: boolean
  get(): unknown
  set(value: unknown): void
  remove(): void
}

export interface Generated {
  /** Holds the value: a mutation may change all of it. */
  root: { value: unknown }
  sites: readonly Site[]
}

/** Fields that say how long the answer may take: large numbers would only make the fuzz slow. */
export const slowFields = /^(delay|wait|hold)_(ms|seconds)$/
const slowMost = 20

const depthMax = 6
const itemsMax = 3
const suggestedShare = 0.92
const exampleShare = 0.5
/** Longer texts are generated only by mutations. */
const lengthUsual = 24

export function generate(
  deps: { document: OpenApiDocument; dice: Dice },
  schema: Schema,
  options: GenerateOptions & { name?: string } = {},
): Generated {
  const generator = new Generator(deps.document, deps.dice, options)
  const root = { value: undefined as unknown }
  generator.place(root, 'value', { schema, name: options.name ?? '', required: true, depth: 0 })
  return { root, sites: generator.sites }
}

interface Place {
  schema: Schema
  name: string
  required: boolean
  depth: number
}

class Generator {
  readonly sites: Site[] = []
  readonly #document: OpenApiDocument
  readonly #dice: Dice
  readonly #suggest: (name: string) => unknown

  constructor(document: OpenApiDocument, dice: Dice, { suggest = () => undefined }: GenerateOptions) {
    this.#document = document
    this.#dice = dice
    this.#suggest = suggest
  }

  /** Generates into a holder, and notes the place. */
  place(holder: object, key: string, { schema: given, name, required, depth }: Place): void {
    const schema = resolveSchema(this.#document, given)
    const fields = holder as Record<string, unknown>
    this.sites.push({
      name,
      schema,
      required,
      get: () => fields[key],
      set: (value) => {
        fields[key] = value
      },
      remove: () => {
        if (Array.isArray(holder)) holder.splice(Number(key), 1)
        else delete fields[key]
      },
    })
    fields[key] = this.#value(schema, name, depth)
  }

  #value(schema: Schema, name: string, depth: number): unknown {
    const dice = this.#dice
    if (slowFields.test(name)) return dice.below(name.endsWith('_ms') ? slowMost : 1)
    if (dice.chance(suggestedShare)) {
      const suggested = this.#suggest(name)
      if (suggested !== undefined && fitsType(schema, suggested)) return structuredClone(suggested)
    }
    if (schema.const !== undefined) return schema.const
    if (schema.enum !== undefined) return dice.pick(schema.enum)
    const examples = [...(schema.examples ?? []), ...(schema.default === undefined ? [] : [schema.default])]
    if (examples.length > 0 && dice.chance(exampleShare)) return structuredClone(dice.pick(examples))
    if (schema.allOf !== undefined) return this.#value(this.#merge(schema, schema.allOf), name, depth)
    const branches = schema.oneOf ?? schema.anyOf
    if (branches !== undefined) return this.#value(this.#merge(schema, [dice.pick(branches)]), name, depth)
    return this.#ofType(schema, name, depth)
  }

  #merge({ oneOf, anyOf, allOf, ...base }: Schema, parts: readonly Schema[]): Schema {
    const merged: Schema = { ...base }
    for (const given of parts) {
      const part = resolveSchema(this.#document, given)
      const properties = { ...merged.properties, ...part.properties }
      const required = [...(merged.required ?? []), ...(part.required ?? [])]
      Object.assign(merged, part, { properties, required })
    }
    return merged
  }

  #ofType(schema: Schema, name: string, depth: number): unknown {
    const type = this.#chooseType(schema)
    if (type === 'object') return this.#object(schema, depth)
    if (type === 'array') return this.#array(schema, name, depth)
    if (type === 'string') return this.#text(schema)
    if (type === 'integer' || type === 'number') return this.#number(schema, type)
    if (type === 'boolean') return this.#dice.chance(0.5)
    if (type === 'null') return null
    return this.#any(depth)
  }

  #chooseType(schema: Schema): string | undefined {
    if (schema.type === undefined)
      return Object.keys(schema.properties ?? {}).length > 0 ? 'object' : undefined
    if (typeof schema.type === 'string') return schema.type
    const solid = schema.type.filter((type) => type !== 'null')
    return solid.length < schema.type.length && this.#dice.chance(0.15) ? 'null' : this.#dice.pick(solid)
  }

  #object(schema: Schema, depth: number): object {
    const dice = this.#dice
    const object = {}
    const required = new Set(schema.required ?? [])
    const properties = Object.entries(schema.properties ?? {})
    const share = depth >= depthMax ? 0 : dice.pick([0, 0.15, 0.3, 0.6])
    const chosen = properties.filter(([key]) => required.has(key) || dice.chance(share))
    const missing = (schema.minProperties ?? 0) - chosen.length
    const left = dice.shuffle(properties.filter((one) => !chosen.includes(one)))
    for (const [key, property] of [...chosen, ...left.slice(0, Math.max(0, missing))]) {
      this.place(object, key, { schema: property, name: key, required: required.has(key), depth: depth + 1 })
    }
    for (const [key, value] of this.#furtherKeys(schema)) {
      this.place(object, key, { schema: value, name: '', required: false, depth: depth + 1 })
    }
    return object
  }

  /** Of a map: its keys are the client's. */
  #furtherKeys({ additionalProperties, patternProperties, propertyNames, maxProperties = 3 }: Schema) {
    const [pattern, ofPattern] = Object.entries(patternProperties ?? {})[0] ?? []
    const value = typeof additionalProperties === 'object' ? additionalProperties : ofPattern
    if (value === undefined) return []
    return Array.from({ length: this.#dice.below(Math.min(3, maxProperties + 1)) }, (_, at) => {
      const form = propertyNames?.pattern ?? pattern
      const key = (form === undefined ? null : sampleText(form, this.#dice)) ?? `key-${at}`
      return [key, value] as const
    })
  }

  #array(schema: Schema, name: string, depth: number): unknown[] {
    const { minItems = 0, maxItems = itemsMax } = schema
    const most = depth >= depthMax ? minItems : Math.max(minItems, Math.min(maxItems, itemsMax))
    const array: unknown[] = []
    const length = this.#dice.between(minItems, most)
    // Ids in a list are of the kind that its name says in the plural.
    const itemName = name.replace(/s$/, '')
    for (let at = 0; at < length; at++) {
      const item = { schema: schema.items ?? {}, name: itemName, required: true, depth: depth + 1 }
      this.place(array, String(at), item)
    }
    return schema.uniqueItems === true ? array.filter(isFirst) : array
  }

  #text(schema: Schema): string {
    const dice = this.#dice
    const { minLength = 0, maxLength = lengthUsual, format, pattern } = schema
    if (format === 'uuid') return dice.uuid()
    if (format === 'date-time')
      return `20${dice.between(26, 30)}-0${dice.between(1, 9)}-1${dice.below(10)}T0${dice.below(10)}:00:00Z`
    if (format === 'date') return `2026-0${dice.between(1, 9)}-1${dice.below(10)}`
    if (format === 'uri' || format === 'uri-reference') return 'http://127.0.0.1:9/'
    if (format === 'email') return 'someone@example.com'
    if (pattern !== undefined) {
      const sampled = sampleText(pattern, dice)
      if (sampled !== null) return sampled
    }
    if (dice.chance(0.05) && maxLength <= 10_000) return 'm'.repeat(maxLength)
    const text = dice.chance(0.2)
      ? dice.pick(oddTexts)
      : dice.pick(['report', 'billing', 'nightly', 'a', 'Ünï'])
    return [...text].slice(0, maxLength).join('').padEnd(minLength, 'x')
  }

  #number(schema: Schema, type: 'integer' | 'number'): number {
    const dice = this.#dice
    const low = schema.minimum ?? (schema.exclusiveMinimum === undefined ? 0 : schema.exclusiveMinimum + 1)
    const high =
      schema.maximum ?? (schema.exclusiveMaximum === undefined ? low + 1_000 : schema.exclusiveMaximum - 1)
    if (type === 'number' && dice.chance(0.3)) return low + (high - low) * (dice.below(1_000) / 1_000)
    const step = schema.multipleOf ?? 1
    const value = dice.pick([low, high, dice.between(low, high), dice.between(low, Math.min(high, low + 20))])
    return Math.max(low, Math.floor(value / step) * step)
  }

  #any(depth: number): unknown {
    const dice = this.#dice
    const kind = dice.below(depth >= depthMax ? 4 : 6)
    if (kind === 0) return dice.pick(oddTexts)
    if (kind === 1) return dice.between(-1_000, 1_000) / 4
    if (kind === 2) return dice.chance(0.5)
    if (kind === 3) return null
    if (kind === 4) return Array.from({ length: dice.below(3) }, () => this.#any(depth + 1))
    return { [dice.pick(['a', 'b', 'é', ''])]: this.#any(depth + 1) }
  }
}

function fitsType({ type }: Schema, value: unknown): boolean {
  if (type === undefined) return true
  const own = value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value
  const types = [type].flat()
  return types.includes(own) || (types.includes('integer') && Number.isInteger(value))
}

function isFirst(value: unknown, at: number, all: readonly unknown[]): boolean {
  return all.findIndex((other) => JSON.stringify(other) === JSON.stringify(value)) === at
}
