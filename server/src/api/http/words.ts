// Words of closed sets in any case: `exponential` is read as EXPONENTIAL, and `HTTP` as http. Further words of the same
// meaning may be added to a field. Unknown words stay as they are, so that validation refuses them.
import type { FastifyRequest } from 'fastify'
import { isObject } from '../../lib/is-object.ts'

/** Further words by field: a word in lower case, and the one it stands for. */
export type OtherWords = Readonly<Record<string, Readonly<Record<string, string>>>>

/** The parts of a schema that hold words of a closed set. */
export interface WordTree {
  /** Null: the value is not such a word. */
  words: { known: ReadonlySet<string>; others: ReadonlyMap<string, string> } | null
  fields: readonly (readonly [string, WordTree])[]
  items: WordTree | null
}

interface JsonSchema {
  enum?: readonly unknown[]
  properties?: Record<string, JsonSchema>
  items?: JsonSchema
}

export function wordTreeOf(schema: object, others: OtherWords = {}): WordTree {
  return treeOf(schema, others, '') ?? { words: null, fields: [], items: null }
}

function treeOf(schema: JsonSchema, others: OtherWords, name: string): WordTree | null {
  const fields = Object.entries(schema.properties ?? {}).flatMap(([field, value]) => {
    const tree = treeOf(value, others, field)
    return tree === null ? [] : [[field, tree] as const]
  })
  const items = schema.items === undefined ? null : treeOf(schema.items, others, name)
  const known = (schema.enum ?? []).filter((word) => typeof word === 'string')
  if (known.length + fields.length === 0 && items === null) return null
  if (known.length === 0) return { words: null, fields, items }
  const inLowerCase = known.map((word) => [word.toLowerCase(), word] as const)
  const words = {
    known: new Set(known),
    others: new Map([...inLowerCase, ...Object.entries(others[name] ?? {})]),
  }
  return { words, fields, items }
}

/** Returns `value` itself, not a copy, if each of its words is written as the schema has it. */
export function foldWords(tree: WordTree, value: unknown): unknown {
  const { words, fields, items } = tree
  if (words !== null && typeof value === 'string') {
    return words.known.has(value) ? value : (words.others.get(value.toLowerCase()) ?? value)
  }
  if (items !== null && Array.isArray(value)) {
    const folded = value.map((item) => foldWords(items, item))
    return folded.some((item, place) => item !== value[place]) ? folded : value
  }
  if (fields.length === 0 || !isObject(value)) return value
  let folded = value
  for (const [name, child] of fields) {
    if (value[name] === undefined) continue
    const word = foldWords(child, value[name])
    if (word === value[name]) continue
    if (folded === value) folded = { ...value }
    folded[name] = word
  }
  return folded
}

/** A hook for a list: the words of its query string in any case. */
export function readQueryWords(schema: object, others: OtherWords = {}) {
  const tree = wordTreeOf(schema, others)
  return async (request: FastifyRequest): Promise<void> => {
    request.query = foldWords(tree, request.query)
  }
}

/** The same for a body. */
export function readBodyWords(schema: object, others: OtherWords = {}) {
  const tree = wordTreeOf(schema, others)
  return async (request: FastifyRequest): Promise<void> => {
    request.body = foldWords(tree, request.body)
  }
}

/** Other words for the status of a job. */
export const jobStatusWords = { status: { scheduled: 'ACTIVE', cancelled: 'DELETED' } } as const

/** Other words for the status of an execution. */
export const executionStatusWords = {
  status: {
    success: 'SUCCEEDED',
    completed: 'SUCCEEDED',
    timeout: 'TIMED_OUT',
    queued: 'PENDING',
    enqueued: 'PENDING',
    in_progress: 'RUNNING',
  },
} as const
