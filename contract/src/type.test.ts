import assert from 'node:assert/strict'
import test from 'node:test'
import Typebox from 'typebox'
import * as Type from './type.ts'

/** The same schema, built by either. */
const schemas = (given: typeof Typebox | typeof Type) => {
  const T = given as typeof Type
  const strict = { additionalProperties: false }
  const description = 'A description.'
  return {
    string: [T.String(), T.String({ minLength: 1, description })],
    integer: [T.Integer(), T.Integer({ minimum: 0, description })],
    number: [T.Number(), T.Number({ maximum: 1 })],
    boolean: [T.Boolean(), T.Boolean({ description })],
    array: [T.Array(T.String()), T.Array(T.Integer({ minimum: 1 }), { maxItems: 3, description })],
    record: [T.Record(T.String(), T.Integer()), T.Record(T.String(), T.String(), { description })],
    enum: [T.Enum(['a', 'b']), T.Enum(['a'], { description })],
    literal: [T.Literal('RUNNING'), T.Literal('RUNNING', { description })],
    unsafe: [
      T.Unsafe<string>({ type: ['string', 'null'], description }),
      T.Optional(T.Unsafe<1>({ enum: [1] })),
    ],
    object: [
      T.Object({}),
      T.Object({ a: T.String(), b: T.Optional(T.Integer()) }, strict),
      T.Object({ a: T.Optional(T.String({ description })) }, { ...strict, description, examples: [{}] }),
      T.Object({ inner: T.Object({ a: T.Optional(T.Object({ b: T.String() })) }) }),
      // A copy of an optional field is no longer optional.
      T.Object({ a: T.Unsafe<string>({ ...T.Optional(T.String()), description }) }),
      T.Optional(T.Object({ a: T.String() })),
    ],
  }
}

test('each builder returns the schema of typebox, its keywords in the same order', () => {
  assert.equal(JSON.stringify(schemas(Type), null, 1), JSON.stringify(schemas(Typebox), null, 1))
})

test('a field is required unless it is optional', () => {
  const schema = Type.Object({ a: Type.String(), b: Type.Optional(Type.String()) })
  assert.deepEqual({ ...schema }['required'], ['a'])
})
