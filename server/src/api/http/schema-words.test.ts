// Walks every schema of every route: each constraint can be said in words, and no error for a wrong value speaks the
// language of the validator.
import assert from 'node:assert/strict'
import test from 'node:test'
import { collectRoutes, type RequestSchemaAt, requestSchemasOf } from '../../../test/routes.ts'
import { type RequestSchema, typesOf } from './schema-words.ts'
import { createValidator } from './validators.ts'

const keywords =
  'type enum const minLength maxLength pattern format minimum maximum minItems maxItems uniqueItems items minProperties maxProperties required properties additionalProperties x-expected'
const annotations = 'description default examples title contentMediaType'
const known = new Set(`${keywords} ${annotations}`.split(' '))

/** Words of the validator, and signs of regular expressions. */
const jargon =
  /must NOT|must match|must pass|pattern|regular|regex|fewer than|schema|propert|enum|undefined|NaN|\[object|\^|\$|\\|\{\d|\[[a-zA-Z]-|\+\)|\.\*/

test('every keyword of a request has words, and a wrong value for it is refused in plain English', async (t) => {
  const { routes } = await collectRoutes(t)
  const nodes = requestSchemasOf(routes).flatMap(nodesOf)
  let refused = 0
  for (const { schema, part, at } of nodes) {
    for (const keyword of Object.keys(schema)) assert(known.has(keyword), `${at}: unknown keyword ${keyword}`)
    if (schema.pattern !== undefined || schema.format !== undefined)
      assert(schema['x-expected'] !== undefined, `${at}: nothing says its form in words`)
    for (const value of wrongValuesOf(schema)) {
      const findings = createValidator(schema, part)(value)
      const shown = JSON.stringify(value).slice(0, 80)
      assert(findings !== null, `${at}: ${shown} is taken`)
      for (const { pointer, detail, code } of findings.errors) {
        const said = `${at}: ${shown}: ${pointer} ${detail}`
        assert.doesNotMatch(detail.replaceAll('"0 10 * * *"', ''), jargon, said)
        assert.match(detail, /^(is|must|has) \S/, said)
        assert(detail.length < 600 && code !== undefined, said)
        refused += 1
      }
    }
  }
  assert(nodes.length > 300 && refused > 1_000, `only ${nodes.length} schemas, ${refused} errors`)
})

test('every example in the words of a schema is allowed by the schema', async (t) => {
  const { routes } = await collectRoutes(t)
  const worded = requestSchemasOf(routes)
    .flatMap(nodesOf)
    .filter(({ schema }) => schema['x-expected'] !== undefined)
  for (const { schema, part, at } of worded) {
    const words = schema['x-expected']!
    const examples = [...words.matchAll(/such as (\{.*\}|"[^"]*"|\S*[^\s,])/g)].map(([, text]) => text!)
    assert(examples.length > 0, `${at}: no example: ${words}`)
    for (const text of examples) {
      const value = /^[{"]/.test(text) ? JSON.parse(text) : text
      assert.equal(createValidator(schema, part)(value), null, `${at}: ${text}`)
    }
  }
  assert(worded.length > 50, `only ${worded.length}`)
})

function nodesOf(root: RequestSchemaAt): RequestSchemaAt[] {
  const { schema, part, at } = root
  const { properties = {}, items, additionalProperties: others } = schema
  const inner = Object.entries(properties).map(([name, one]) => ({ schema: one, at: `${at}/${name}` }))
  if (items !== undefined) inner.push({ schema: items, at: `${at}/0` })
  if (typeof others === 'object') inner.push({ schema: others, at: `${at}/*` })
  return [root, ...inner.flatMap((one) => nodesOf({ ...one, part }))]
}

/** At least one for each constraint. */
function wrongValuesOf(schema: RequestSchema): unknown[] {
  const types = typesOf(schema)
  const others: unknown[] = ['x', 1.5, true, [], {}, null]
  const wrong = types.length === 0 ? [] : others.filter((value) => !types.includes(typeOf(value)))
  const { minLength = 0, maxLength, pattern, format, minimum, maximum } = schema
  if (minLength > 0) wrong.push('x'.repeat(minLength - 1))
  if (maxLength !== undefined) wrong.push('x'.repeat(maxLength + 1))
  if (pattern !== undefined || format !== undefined) wrong.push('', 'No Such Form \n')
  if (minimum !== undefined) wrong.push(minimum - 1)
  if (maximum !== undefined) wrong.push(maximum + 1)
  if (schema.enum !== undefined || schema.const !== undefined) wrong.push('NO_SUCH_WORD')
  const { minItems = 0, maxItems, uniqueItems, items } = schema
  if (minItems > 0) wrong.push([])
  if (maxItems !== undefined) wrong.push(Array.from({ length: maxItems + 1 }, () => 'a'))
  if (uniqueItems === true) wrong.push([items!.enum![0], items!.enum![0]])
  const { properties = {}, required = [], minProperties = 0, maxProperties, additionalProperties } = schema
  if (types.includes('object')) {
    if (required.length > 0 || minProperties > 0) wrong.push({})
    if (additionalProperties === false)
      wrong.push({ no_such_field: 1 }, ...Object.keys(properties).map((name) => ({ [`${name}x`]: 1 })))
    if (maxProperties !== undefined && additionalProperties !== false)
      wrong.push(Object.fromEntries(Array.from({ length: maxProperties + 1 }, (_, at) => [`k${at}`, 'a'])))
  }
  return wrong
}

function typeOf(value: unknown): string {
  return value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value
}
