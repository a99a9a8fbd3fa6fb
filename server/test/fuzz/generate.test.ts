import assert from 'node:assert/strict'
import test from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { toCurl } from './curl.ts'
import { Dice } from './dice.ts'
import type { OpenApiDocument, Schema } from './document.ts'
import { generate } from './generate.ts'
import { mutate } from './mutate.ts'
import { sampleText } from './pattern.ts'

const document = {
  paths: {},
  components: { schemas: { Money: { type: 'integer', minimum: 5, maximum: 10, multipleOf: 5 } } },
} as OpenApiDocument

/** Has every keyword that the generator knows. */
const schema: Schema = {
  type: 'object',
  required: ['id', 'kind', 'price', 'when'],
  additionalProperties: false,
  properties: {
    id: { type: 'string', pattern: '^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$' },
    kind: { enum: ['a', 'b'] },
    price: { $ref: '#/components/schemas/Money' },
    when: { type: ['string', 'null'], format: 'date-time' },
    uuid: { type: 'string', format: 'uuid' },
    name: { type: 'string', minLength: 3, maxLength: 8 },
    labels: { type: 'object', additionalProperties: { type: 'string', maxLength: 4 }, maxProperties: 3 },
    list: { type: 'array', items: { type: 'number', minimum: 0, maximum: 1 }, minItems: 1, maxItems: 4 },
    unique: { type: 'array', items: { type: 'boolean' }, uniqueItems: true },
    choice: {
      oneOf: [
        { type: 'object', required: ['a'], properties: { a: { const: 1 } }, additionalProperties: false },
        {
          type: 'object',
          required: ['b'],
          properties: { b: { type: 'boolean' } },
          additionalProperties: false,
        },
      ],
    },
    all: { allOf: [{ type: 'object', required: ['x'] }, { properties: { x: { type: 'integer' } } }] },
    some: { type: 'object', minProperties: 1, properties: { one: {}, two: { default: 2, type: 'integer' } } },
    anything: {},
  },
}

function compile() {
  const ajv = new Ajv2020({ strict: false, validateSchema: false })
  addFormats.default(ajv)
  ajv.addSchema({ ...document, root: schema }, 'document')
  return ajv.compile({ $ref: 'document#/root' })
}

test('generated values are valid against their schema', () => {
  const validate = compile()
  for (let seed = 0; seed < 2_000; seed++) {
    const { root } = generate({ document, dice: new Dice(seed) }, schema)
    assert(validate(root.value), `seed ${seed}: ${JSON.stringify([root.value, validate.errors])}`)
  }
})

test('a mutation mostly makes it invalid, and always leaves it something that can be sent', () => {
  const validate = compile()
  let invalid = 0
  for (let seed = 0; seed < 2_000; seed++) {
    const dice = new Dice(seed)
    const { root, sites } = generate({ document, dice }, schema)
    mutate(sites, dice)
    const text = JSON.stringify(root.value)
    if (text === undefined || !validate(JSON.parse(text))) invalid += 1
  }
  assert(invalid > 1_000, `only ${invalid} of 2000`)
})

test('the same seed generates the same', () => {
  const draw = (seed: number) => {
    const dice = new Dice(seed)
    const { root, sites } = generate({ document, dice }, schema)
    return [mutate(sites, dice), JSON.stringify(root.value)]
  }
  assert.deepEqual(draw(5), draw(5))
  assert.notDeepEqual(draw(5), draw(6))
})

test('a text is found for the patterns that schemas have', () => {
  const patterns = [
    '^[a-z][a-z0-9-]{0,62}$',
    '^(ab|c+)?\\d{2,3}$',
    '^[^/]+$',
    '^W/"\\d+"$',
    '^\\S{1,5}$',
    '^sha256:[\\da-f]{64}$',
  ]
  for (const pattern of patterns) {
    for (let seed = 0; seed < 50; seed++) {
      const text = sampleText(pattern, new Dice(seed))
      assert(text !== null && new RegExp(pattern, 'u').test(text), `${pattern}: ${text}`)
    }
  }
})

test('a request is printed as a command that a shell reads back', () => {
  const request = {
    operation: null,
    method: 'POST',
    path: "/a?b='",
    headers: { 'content-type': 'application/json', 'if-match': '' },
    body: Buffer.from('{"a":"it\'s\\n é"}'),
    parameters: {},
    spoiled: [],
  }
  assert.equal(
    toCurl('http://h', request),
    "curl -sS -i --path-as-is -X POST -H 'content-type: application/json' -H 'if-match;' " +
      `--data-binary $'{"a":"it\\'s\\\\n \\xc3\\xa9"}' $'http://h/a?b=\\''`,
  )
})
