import assert from 'node:assert/strict'
import test from 'node:test'
import { LineReader } from './line-reader.ts'

function readIn(chunks: readonly string[], bytesMax = 100): string[] {
  const lines: string[] = []
  const reader = new LineReader(bytesMax, (line) => lines.push(line))
  for (const chunk of chunks) reader.push(Buffer.from(chunk, 'latin1'))
  reader.end()
  return lines
}

test('lines are found wherever the bytes are cut', () => {
  const text = 'one\ntwo\r\n\nthree'
  for (let at = 0; at <= text.length; at++) {
    assert.deepEqual(readIn([text.slice(0, at), text.slice(at)]), ['one', 'two', '', 'three'])
  }
  assert.deepEqual(readIn(['a\n']), ['a'])
  assert.deepEqual(readIn([]), [])
})

test('a character that comes in two pieces is one', () => {
  const bytes = Buffer.from('é\n').toString('latin1')
  assert.deepEqual(readIn([bytes.slice(0, 1), bytes.slice(1)]), ['é'])
})

test('of a long line the rest is dropped, and the next line is whole', () => {
  assert.deepEqual(readIn(['12345', '678\nab', 'c\n'], 6), ['123456', 'abc'])
  assert.deepEqual(readIn(Array(50).fill('x'.repeat(1_000)), 6), ['xxxxxx'])
})
