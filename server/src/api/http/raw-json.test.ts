import assert from 'node:assert/strict'
import test from 'node:test'
import { RawJson, withRawJson } from './raw-json.ts'

const write = withRawJson((answer) => JSON.stringify(answer))

test('a text of JSON is written as it is, where it stands', () => {
  const answer = { a: new RawJson('{"n": 1.0}'), list: [1, new RawJson('[]'), new RawJson('"$1 $&"')] }
  assert.equal(write(answer), '{"a":{"n": 1.0},"list":[1,[],"$1 $&"]}')
})

test('no text of a client is taken for the place of another text', () => {
  const texts = ['\\ud8000', '"\\ud8000"', '\\', '\u0001', '\ud83d\ude00', '\\"\\ud8000"']
  const answer = { texts, raw: new RawJson('"\\ud8000"'), last: new RawJson('7') }
  const json = write(answer)
  assert.deepEqual(JSON.parse(json.replace('"raw":"\\ud8000"', '"raw":0')), { texts, raw: 0, last: 7 })
  assert(json.includes('"raw":"\\ud8000"'))
})

test('an answer after one that could not be written has its own texts', () => {
  const fails = {
    a: new RawJson('1'),
    get b(): never {
      throw new Error('no')
    },
  }
  assert.throws(() => write(fails), /no/)
  assert.equal(write({ a: new RawJson('2') }), '{"a":2}')
})
