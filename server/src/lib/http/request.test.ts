import assert from 'node:assert/strict'
import test from 'node:test'
import { InvalidRequest, writeRequest } from './request.ts'

type Request = Parameters<typeof writeRequest>[0]

function write(change: Partial<Request> = {}, path = '/hook') {
  const { head, body } = writeRequest({ method: 'POST', headers: {}, ...change }, 'target.test', path)
  return Buffer.concat([Buffer.from(head, 'latin1'), body ?? Buffer.alloc(0)])
}

const refused = (change: Partial<Request>, path?: string) =>
  assert.throws(() => write(change, path), InvalidRequest, JSON.stringify([change, path]))

test('a request is its line, its headers and its body', () => {
  const sent = write(
    { headers: { 'Content-Type': 'text/plain', 'x-a': '' }, body: 'hi' },
    '/hook?a=1',
  ).toString()
  assert.equal(
    sent,
    'POST /hook?a=1 HTTP/1.1\r\nhost: target.test\r\nconnection: keep-alive\r\nContent-Type: text/plain\r\nx-a: \r\n' +
      'content-length: 2\r\n\r\nhi',
  )
})

test('the length of a body is that of its bytes', () => {
  const bodies: [body: string | Uint8Array, bytes: Uint8Array][] = [
    ['grün', Buffer.from('grün')],
    ['日本 🔔', Buffer.from('日本 🔔')],
    // Half a character is sent as the character that stands for a broken one.
    ['\ud83d', Buffer.from([0xef, 0xbf, 0xbd])],
    [Buffer.from([0, 0xff, 0x0d, 0x0a]), Buffer.from([0, 0xff, 0x0d, 0x0a])],
    ['', Buffer.alloc(0)],
    [new Uint8Array(0), Buffer.alloc(0)],
  ]
  for (const [body, bytes] of bodies) {
    const sent = write({ body, headers: { 'x-latin': 'é' } })
    const end = sent.indexOf('\r\n\r\n') + 4
    assert.deepEqual(sent.subarray(end), Buffer.from(bytes))
    assert.match(
      sent.toString('latin1', 0, end),
      new RegExp(`x-latin: é\r\ncontent-length: ${bytes.length}\r\n`),
    )
  }
})

test('where a body is usual and there is none, it is said to be empty', () => {
  for (const method of ['POST', 'PUT', 'PATCH'])
    assert.match(write({ method }).toString(), /\r\ncontent-length: 0\r\n\r\n$/)
  for (const method of ['GET', 'DELETE', 'HEAD'])
    assert.doesNotMatch(write({ method }).toString(), /content-length|transfer-encoding/)
})

test('input that would break the message apart is refused', () => {
  for (const text of ['a\r\nb: c', 'a\nb', 'a\rb', 'a\0b', '\x7f', '日本', 'a\u2028b', 'Ā'])
    refused({ headers: { 'x-a': text } })
  for (const name of ['', 'x a', 'x:', 'x\r\ny', 'x\0', 'é', 'x-日', ' x', 'x('])
    refused({ headers: { [name]: 'v' } })
  for (const path of ['', 'hook', '/a b', '/a\r\nx: y', '/\0', '/é', '*', 'http://other.test/'])
    refused({}, path)
  for (const method of ['', 'GET /other', 'POST\r\n', 'P\0ST', 'é']) refused({ method })
})

test('a header that was refused stays refused, and one that was fine stays fine', () => {
  for (let n = 0; n < 2; n++) {
    refused({ headers: { 'x again': 'v' } })
    assert.match(write({ headers: { 'x-again': 'v' } }).toString(), /x-again: v/)
  }
  // More names than are remembered.
  for (let n = 0; n < 10_002; n++) write({ headers: { [`x-${n}`]: 'v' } })
  refused({ headers: { 'x again': 'v' } })
})

test('framing headers cannot be set, however they are spelled', () => {
  for (const name of [
    'host',
    'Content-Length',
    'TRANSFER-ENCODING',
    'connection',
    'Keep-Alive',
    'upgrade',
    'expect',
  ])
    refused({ headers: { [name]: '1' } })
})
