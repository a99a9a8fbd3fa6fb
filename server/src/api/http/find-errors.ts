// Finds every mistake in a value that its schema does not allow, each with its place and in words. It runs only after
// the compiled validator refused the value, so a valid request pays nothing; and unlike the validator's own mode that
// collects all errors it is bounded: a body of a million mistakes is given up on early. The order is that of the
// validator, so the first error is the one that the validator meets first. find-errors.test.ts compares the two.
import type { FieldErrorCode } from '@carillon/contract/errors.ts'
import { nearestOf } from '../../lib/did-you-mean.ts'
import { countedMax, type Findings, listedMax } from './findings.ts'
import { escapePointer } from './problem.ts'
import { count, expectationOf, kindOf, type RequestSchema, typesOf } from './schema-words.ts'

/** Characters of an unknown name that are repeated in the answer. */
const nameShownMax = 128

/** The part of the request; parameters are texts that have already been read. */
export type Part = 'body' | 'querystring' | 'params' | 'headers'

interface Search {
  findings: Findings
  part: Part
  hasFormat: (format: string, text: string) => boolean
}

export function findErrors(schema: RequestSchema, value: unknown, search: Search): void {
  new Finder(search).check(schema, value, '')
}

class Finder {
  readonly #findings: Findings
  readonly #part: Part
  readonly #hasFormat: Search['hasFormat']

  constructor({ findings, part, hasFormat }: Search) {
    this.#findings = findings
    this.#part = part
    this.#hasFormat = hasFormat
  }

  check(schema: RequestSchema, value: unknown, pointer: string): void {
    if (this.#findings.isFull) return
    const types = typesOf(schema)
    if (types.length > 0 && !types.some((type) => isOfType(value, type))) {
      // A parameter is always sent as text: that it is a string would say nothing.
      const given = this.#part === 'body' ? givenOf(value) : ''
      this.#add(pointer, 'WRONG_TYPE', `must be ${expectationOf(schema)}${given}`)
      return
    }
    if (typeof value === 'number') this.#checkNumber(schema, value, pointer)
    if (typeof value === 'string') this.#checkText(schema, value, pointer)
    this.#checkChoice(schema, value, pointer)
    if (Array.isArray(value)) this.#checkArray(schema, value, pointer)
    else if (typeof value === 'object' && value !== null)
      this.#checkObject(schema, value as Record<string, unknown>, pointer)
  }

  #checkNumber(schema: RequestSchema, value: number, pointer: string): void {
    const { minimum = -Infinity, maximum = Infinity } = schema
    if (value < minimum || value > maximum)
      this.#add(pointer, 'OUT_OF_RANGE', `must be ${expectationOf(schema)}`)
  }

  #checkText(schema: RequestSchema, text: string, pointer: string): void {
    const { minLength = 0, maxLength = Infinity, pattern, format } = schema
    const length = lengthOf(text)
    const detail = `must be ${expectationOf(schema)}`
    if (length < minLength || length > maxLength) {
      this.#add(pointer, 'WRONG_LENGTH', `${detail}; it ${hasItems(length, 'character')}`)
    } else if (
      (pattern !== undefined && !expressionOf(pattern).test(text)) ||
      (format !== undefined && !this.#hasFormat(format, text))
    ) {
      this.#add(pointer, 'WRONG_FORMAT', detail)
    }
  }

  #checkChoice(schema: RequestSchema, value: unknown, pointer: string): void {
    const { enum: choices, const: only } = schema
    const allowed = only === undefined ? choices : [only]
    if (allowed === undefined || allowed.includes(value)) return
    const names = allowed.filter((one) => typeof one === 'string')
    const near = typeof value === 'string' ? this.#nearest(value, names) : null
    this.#add(pointer, 'NOT_ALLOWED', `must be ${expectationOf(schema)}`, near)
  }

  #checkArray(schema: RequestSchema, items: readonly unknown[], pointer: string): void {
    const { minItems = 0, maxItems = Infinity, uniqueItems, items: item } = schema
    if (items.length < minItems || items.length > maxItems) {
      const detail = `must be ${expectationOf(schema)}; it ${hasItems(items.length, 'item')}`
      this.#add(pointer, 'WRONG_LENGTH', detail)
    }
    // Items beyond the most are not looked at: they have to go anyway.
    const looked = items.slice(0, Math.min(maxItems, countedMax))
    const repeated = uniqueItems === true ? findRepeated(looked) : -1
    if (repeated !== -1)
      this.#add(pointer, 'REPEATED', `must have each item once; item ${repeated} repeats an earlier one`)
    if (item !== undefined)
      for (const [at, one] of looked.entries()) this.check(item, one, `${pointer}/${at}`)
  }

  #checkObject(schema: RequestSchema, value: Record<string, unknown>, pointer: string): void {
    const { minProperties = 0, maxProperties = Infinity, required = [] } = schema
    const { properties = {}, additionalProperties: others = true } = schema
    const names = Object.keys(value)
    if (names.length < minProperties || names.length > maxProperties) {
      const detail = `must be ${expectationOf(schema)}; it ${hasItems(names.length, 'field')}`
      this.#add(pointer, 'WRONG_LENGTH', detail)
    }
    for (const name of required)
      if (value[name] === undefined) this.#add(this.#below(pointer, name), 'REQUIRED', 'is required')
    const absent = Object.keys(properties).filter((name) => !Object.hasOwn(value, name))
    for (const name of others === true ? [] : names) {
      if (this.#findings.isFull) return
      if (Object.hasOwn(properties, name)) continue
      const at = this.#below(pointer, name)
      if (typeof others === 'object') this.check(others, value[name], at)
      else this.#addUnknown(at, name, absent)
    }
    for (const [name, property] of Object.entries(properties))
      if (value[name] !== undefined) this.check(property, value[name], this.#below(pointer, name))
  }

  #addUnknown(pointer: string, name: string, absent: readonly string[]): void {
    const noun = this.#part === 'body' ? 'field' : 'parameter'
    this.#add(pointer, 'UNKNOWN_FIELD', `is not a known ${noun}`, this.#nearest(name, absent))
  }

  /** Only for an error that is listed: a search takes microseconds, and there may be hundreds of errors. */
  #nearest(word: string, candidates: readonly string[]): string | null {
    return this.#findings.errors.length < listedMax ? nearestOf(word, candidates) : null
  }

  #add(pointer: string, code: FieldErrorCode, detail: string, near: string | null = null): void {
    const place = this.#part === 'body' ? pointer : pointer.slice(1)
    const hint = near === null ? {} : { suggestions: [near] }
    this.#findings.add({
      pointer: place,
      detail: near === null ? detail : `${detail}; did you mean ${near}?`,
      code,
      ...hint,
    })
  }

  #below(pointer: string, name: string): string {
    const shown = name.length > nameShownMax ? `${name.slice(0, nameShownMax)}…` : name
    return `${pointer}/${this.#part === 'body' ? escapePointer(shown) : shown}`
  }
}

function isOfType(value: unknown, type: string): boolean {
  if (type === 'null') return value === null
  if (type === 'array') return Array.isArray(value)
  if (type === 'integer') return Number.isInteger(value)
  if (type === 'object') return typeof value === 'object' && value !== null && !Array.isArray(value)
  return typeof value === type
}

/** Undefined: there is no body. */
function givenOf(value: unknown): string {
  return value === undefined ? '; there is none' : `, not ${kindOf(value)}`
}

/** In characters, as JSON Schema counts: half of a surrogate pair is none. */
function lengthOf(text: string): number {
  let length = 0
  for (const _character of text) length += 1
  return length
}

/** The place of the first item that an earlier one equals; -1: there is none. */
function findRepeated(items: readonly unknown[]): number {
  const texts = items.map((item) => JSON.stringify(item))
  return texts.findIndex((text, at) => texts.indexOf(text) < at)
}

function hasItems(length: number, noun: string): string {
  return length === 0 ? 'is empty' : `has ${count(length, noun)}`
}

const expressions = new Map<string, RegExp>()

function expressionOf(pattern: string): RegExp {
  let expression = expressions.get(pattern)
  if (expression === undefined) {
    expression = new RegExp(pattern, 'u')
    expressions.set(pattern, expression)
  }
  return expression
}
