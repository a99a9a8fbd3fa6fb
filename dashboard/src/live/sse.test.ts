import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createSseParser, type SseEvent } from './sse.ts'

function parseIn(pieces: readonly string[]): SseEvent[] {
  const events: SseEvent[] = []
  const take = createSseParser((event) => events.push(event))
  for (const piece of pieces) take(piece)
  return events
}

const stream =
  ': a comment\n\nid: 7\nevent: pulse\ndata: {"lag_ms":3}\n\nevent: log\r\ndata: one\r\ndata: two\r\n\r\ndata:bare\n\n'
const expected = [
  { id: '7', type: 'pulse', data: '{"lag_ms":3}' },
  { id: '7', type: 'log', data: 'one\ntwo' },
  { id: '7', type: 'message', data: 'bare' },
]

test('events are read out of a stream, and comments are not events', () => {
  assert.deepEqual(parseIn([stream]), expected)
})

test('wherever the stream is cut, the events are the same', () => {
  for (let at = 1; at < stream.length; at += 1) {
    assert.deepEqual(parseIn([stream.slice(0, at), stream.slice(at)]), expected, `cut at ${at}`)
  }
  assert.deepEqual(parseIn([...stream]), expected)
})

test('an event that is not complete is not told', () => {
  assert.deepEqual(parseIn(['event: pulse\ndata: {}\n']), [])
})

test('an endless event does not grow without bound, and the events after it are read', () => {
  const piece = `data: ${'x'.repeat(1_000_000)}\n`
  const events = parseIn([piece, piece, piece, piece, piece, '\n', 'data: after\n\n'])
  assert.deepEqual(
    events.map(({ data }) => data),
    ['after'],
  )
})
