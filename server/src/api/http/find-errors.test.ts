import assert from 'node:assert/strict'
import test from 'node:test'
import { Ajv, type AnySchemaObject, type ErrorObject } from 'ajv'
import addFormats from 'ajv-formats'
import { Dice } from '../../../test/fuzz/dice.ts'
import type { Schema } from '../../../test/fuzz/document.ts'
import { generate } from '../../../test/fuzz/generate.ts'
import { mutate } from '../../../test/fuzz/mutate.ts'
import { collectRoutes, requestSchemasOf } from '../../../test/routes.ts'
import { countedMax, listedMax } from './findings.ts'
import { escapePointer } from './problem.ts'
import { createValidator } from './validators.ts'

const casesOfEach = 60

test('for every schema of a body, random mistakes are found at the places where ajv finds them, the first one first', async (t) => {
  const { routes } = await collectRoutes(t)
  const options = { strictRequired: false, allowUnionTypes: true } as const
  const [one, all] = [new Ajv(options), new Ajv({ ...options, allErrors: true })]
  for (const ajv of [one, all]) {
    addFormats.default(ajv)
    ajv.addVocabulary(['x-expected'])
  }
  const bodies = requestSchemasOf(routes).filter(
    ({ part, schema }) => part === 'body' && schema.type !== undefined,
  )
  let compared = 0
  for (const { schema, at } of bodies) {
    const validate = createValidator(schema as AnySchemaObject)
    const validateOne = one.compile(schema)
    const validateAll = all.compile(schema)
    for (let seed = 1; seed <= casesOfEach; seed++) {
      const dice = new Dice(seed)
      const { root, sites } = generate({ document: { paths: {} }, dice }, schema as Schema)
      const mistakes = Array.from({ length: dice.between(1, 4) }, () => mutate(sites, dice))
      const { value } = root
      const said = `${at}, seed ${seed}: ${mistakes.join('; ')}: ${JSON.stringify(value)?.slice(0, 500)}`
      const findings = validate(value)
      assert.equal(findings === null, validateOne(value), said)
      if (findings === null) continue
      assert.equal(findings.errors[0]!.pointer, placeOf(validateOne.errors![0]!), said)
      assert(
        findings.errors.every(({ detail }) => detail !== 'is not valid'),
        said,
      )
      validateAll(value)
      const expected = placesOf(validateAll.errors!)
      if (expected.length > listedMax) continue
      compared += 1
      assert.deepEqual(findings.errors.map(({ pointer }) => pointer).toSorted(), expected, said)
    }
  }
  assert(bodies.length >= 20 && compared > 500, `${bodies.length} schemas, ${compared} compared`)
})

function placeOf({ instancePath, params }: ErrorObject): string {
  const child = params['missingProperty'] ?? params['additionalProperty']
  return child === undefined ? instancePath : `${instancePath}/${escapePointer(child)}`
}

/** Each place once, without the items beyond the most of an array. */
function placesOf(errors: readonly ErrorObject[]): string[] {
  const isBeyond = (place: string) =>
    errors.some(({ keyword, instancePath, params }) => {
      const at = place.startsWith(`${instancePath}/`) ? place.slice(instancePath.length + 1) : ''
      return keyword === 'maxItems' && Number.parseInt(at, 10) >= params['limit']
    })
  const places = new Set(errors.map(placeOf).filter((place) => !isBeyond(place)))
  return [...places].toSorted()
}

const shape = {
  type: 'object',
  properties: { list: { type: 'array', items: { type: 'integer' } } },
  additionalProperties: false,
}

test('a body of a hundred thousand mistakes is looked at only so far', () => {
  const validate = createValidator(shape)
  const list = Array.from({ length: 100_000 }, () => 'x')
  const many = Object.fromEntries(Array.from({ length: 100_000 }, (_, at) => [`unknown_${at}`, at]))
  for (const value of [{ list }, many, { list, ...many }]) {
    const findings = validate(value)!
    assert.deepEqual([findings.errors.length, findings.count], [listedMax, countedMax])
  }
})

test('an unknown name is repeated only in part, and its nearest known one is suggested', () => {
  const validate = createValidator(shape)
  const [long] = validate({ ['x'.repeat(10_000)]: 1 })!.errors
  assert.equal(long!.pointer, `/${'x'.repeat(128)}…`)
  const [near] = validate({ lsit: [] })!.errors
  assert.deepEqual(near, {
    pointer: '/lsit',
    detail: 'is not a known field; did you mean list?',
    code: 'UNKNOWN_FIELD',
    suggestions: ['list'],
  })
  // A field that is given already cannot be meant.
  assert.equal(validate({ lsit: [], list: [] })!.errors[0]!.suggestions, undefined)
})
