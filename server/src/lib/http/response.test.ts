import assert from 'node:assert/strict'
import test from 'node:test'
import { InvalidResponse, ResponseReader, ResponseTooLarge } from './response.ts'

interface Read {
  status: number
  headers: Record<string, string>
  body: string
  isKept: boolean
  keepAliveSeconds: number | null
}

/** The answer as read; null: it is not whole. Bytes after it are dropped, as on a connection. */
function read(pieces: Iterable<string>, method = 'GET', isEnded = false): Read | null {
  const reader = new ResponseReader()
  reader.begin(method, Infinity)
  let body = ''
  let isWhole = false
  let hasMore = false
  // One buffer for all pieces, as on a connection: anything kept from it must be a copy.
  const shared = Buffer.alloc(100_000)
  for (const piece of pieces) {
    if (isWhole) hasMore = true
    else {
      const bytes = shared.subarray(0, shared.write(piece, 'latin1'))
      isWhole = reader.read(bytes, (part) => {
        body += Buffer.from(part).toString('latin1')
      })
      shared.fill(0xff, 0, bytes.length)
    }
  }
  if (!isWhole && !(isEnded && reader.end())) return null
  const { status, headers, isKept, keepAliveSeconds } = reader
  return { status, headers, body, isKept: isKept && !hasMore, keepAliveSeconds }
}

/** Whole, cut in two everywhere, and byte by byte. */
function* cuts(text: string): Generator<string[]> {
  yield [text]
  for (let at = 1; at < text.length; at++) yield [text.slice(0, at), text.slice(at)]
  yield [...text]
}

const ok = 'HTTP/1.1 200 OK\r\n'
const chunked = `${ok}transfer-encoding: chunked\r\n\r\n`
const plain: Read = { status: 200, headers: {}, body: '', isKept: true, keepAliveSeconds: null }
const empty = `${ok}content-length: 0\r\n`

const valid: [what: string, text: string, expected: Partial<Read>, method?: string][] = [
  ['no body', `${empty}\r\n`, {}],
  ['a body', `${ok}content-length: 5\r\n\r\nhello`, { body: 'hello' }],
  ['a body that looks like a head', `${ok}content-length: 8\r\n\r\n\r\n\r\nHTTP`, { body: '\r\n\r\nHTTP' }],
  ['a length with zeros before it', `${ok}content-length: 005\r\n\r\nhello`, { body: 'hello' }],
  ['blanks around a value', `${ok}content-length: \t5 \t\r\n\r\nhello`, { body: 'hello' }],
  ['no blank before a value', `${ok}Content-Length:5\r\n\r\nhello`, { body: 'hello' }],
  ['no reason', 'HTTP/1.1 404\r\ncontent-length: 0\r\n\r\n', { status: 404 }],
  ['an empty reason', 'HTTP/1.1 404 \r\ncontent-length: 0\r\n\r\n', { status: 404 }],
  ['a reason beyond ASCII', 'HTTP/1.1 404 d\xe9j\xe0\r\ncontent-length: 0\r\n\r\n', { status: 404 }],
  ['an unknown status', 'HTTP/1.1 999 ?\r\ncontent-length: 0\r\n\r\n', { status: 999 }],
  [
    'headers that are kept, others not',
    `${empty}Retry-After: 7\r\nx-other: 1\r\nCONTENT-TYPE: text/plain; a="b: c"\r\nX-Carillon-Async: true\r\n\r\n`,
    { headers: { 'retry-after': '7', 'content-type': 'text/plain; a="b: c"', 'x-carillon-async': 'true' } },
  ],
  [
    'a header twice',
    `${empty}retry-after: 1\r\nretry-after: 2\r\n\r\n`,
    { headers: { 'retry-after': '1, 2' } },
  ],
  ['a header without value', `${empty}retry-after:\r\nx:\r\n\r\n`, { headers: { 'retry-after': '' } }],
  [
    'a value beyond ASCII',
    `${empty}retry-after: \xe9\xa0\r\n\r\n`,
    { headers: { 'retry-after': '\xe9\xa0' } },
  ],

  ['chunks', `${chunked}5\r\nhello\r\n1\r\n!\r\n0\r\n\r\n`, { body: 'hello!' }],
  ['no chunks', `${chunked}0\r\n\r\n`, {}],
  [
    'chunk sizes of all digits',
    `${chunked}00A\r\n${'x'.repeat(10)}\r\n1f\r\n${'y'.repeat(31)}\r\n000\r\n\r\n`,
    {
      body: 'x'.repeat(10) + 'y'.repeat(31),
    },
  ],
  ['chunks of line breaks', `${chunked}4\r\n\r\n\r\n\r\n2\r\n0\r\r\n0\r\n\r\n`, { body: '\r\n\r\n0\r' }],
  ['chunk extensions', `${chunked}1;a=b\r\n.\r\n1;a="b c;\t\xe9"\r\n!\r\n0;last\r\n\r\n`, { body: '.!' }],
  ['trailer lines', `${chunked}1\r\n.\r\n0\r\nx-sum: 1\r\nx-more:\r\n\r\n`, { body: '.' }],
  ['trailer lines that say nothing to us', `${chunked}0\r\nretry-after: 7\r\nconnection: close\r\n\r\n`, {}],
  [
    'another coding below the chunks',
    `${ok}transfer-encoding: gzip, Chunked\r\n\r\n1\r\n.\r\n0\r\n\r\n`,
    {
      body: '.',
    },
  ],
  ['codings on two lines', `${ok}transfer-encoding: gzip\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`, {}],

  ['interim answers', `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nlink: x\r\n\r\n${empty}\r\n`, {}],
  [
    'nothing of an interim answer',
    `HTTP/1.1 103 Hints\r\nretry-after: 1\r\ncontent-length: 9\r\nconnection: close\r\n\r\n${empty}\r\n`,
    {},
  ],
  ['HEAD with a length', `${ok}content-length: 5\r\n\r\n`, {}, 'HEAD'],
  ['HEAD with chunks', chunked, {}, 'HEAD'],
  ['HEAD with neither', `${ok}\r\n`, {}, 'HEAD'],
  ['204', 'HTTP/1.1 204 No Content\r\n\r\n', { status: 204 }],
  ['204 with a length of 0', 'HTTP/1.1 204 No Content\r\ncontent-length: 0\r\n\r\n', { status: 204 }],
  ['204 with a length', 'HTTP/1.1 204 No\r\ncontent-length: 5\r\n\r\n', { status: 204, isKept: false }],
  [
    '204 with chunks',
    'HTTP/1.1 204 No\r\ntransfer-encoding: chunked\r\n\r\n',
    { status: 204, isKept: false },
  ],
  ['304 with a length', 'HTTP/1.1 304 Not\r\ncontent-length: 5\r\n\r\n', { status: 304, isKept: false }],

  ['close', `${empty}connection: close\r\n\r\n`, { isKept: false }],
  ['close in a list', `${empty}connection: x,\tClose , y\r\n\r\n`, { isKept: false }],
  [
    'close on a line of its own',
    `${empty}connection: keep-alive\r\nconnection: close\r\n\r\n`,
    { isKept: false },
  ],
  ['a word that begins as close', `${empty}connection: closed\r\n\r\n`, { isKept: true }],
  ['HTTP/1.0', 'HTTP/1.0 200 OK\r\ncontent-length: 0\r\n\r\n', { isKept: false }],
  [
    'HTTP/1.0 kept',
    'HTTP/1.0 200 OK\r\ncontent-length: 0\r\nconnection: Keep-Alive\r\n\r\n',
    { isKept: true },
  ],
  [
    'HTTP/1.0 kept and closed',
    'HTTP/1.0 200 OK\r\ncontent-length: 0\r\nconnection: keep-alive, close\r\n\r\n',
    { isKept: false },
  ],
  [
    'HTTP/1.0 with chunks',
    'HTTP/1.0 200 OK\r\ntransfer-encoding: chunked\r\nconnection: keep-alive\r\n\r\n1\r\n.\r\n0\r\n\r\n',
    { isKept: false, body: '.' },
  ],
  ['a time', `${empty}keep-alive: timeout=5, max=100\r\n\r\n`, { keepAliveSeconds: 5 }],
  ['a time after another word', `${empty}keep-alive: max=1,timeout=60\r\n\r\n`, { keepAliveSeconds: 60 }],
  ['a time of another name', `${empty}keep-alive: xtimeout=5\r\n\r\n`, { keepAliveSeconds: null }],

  ['more after no body', `${empty}\r\nx`, { isKept: false }],
  ['more after a body', `${ok}content-length: 1\r\n\r\n.\r\n`, { isKept: false, body: '.' }],
  ['more after chunks', `${chunked}0\r\n\r\nHTTP/1.1 200 OK\r\n\r\n`, { isKept: false }],
  [
    'a body after 204',
    'HTTP/1.1 204 No Content\r\ncontent-length: 1\r\n\r\n.',
    { status: 204, isKept: false },
  ],
  ['a body after HEAD', `${ok}content-length: 1\r\n\r\n.`, { isKept: false }, 'HEAD'],
]

test('an answer is read the same for every split into pieces', () => {
  for (const [what, text, expected, method] of valid)
    for (const pieces of cuts(text))
      assert.deepEqual(read(pieces, method), { ...plain, ...expected }, `${what}: ${JSON.stringify(pieces)}`)
})

test('an answer that is cut short is not whole, nor is it when the connection ends there', () => {
  for (const [what, text, , method] of valid) {
    // An answer with more bytes after it is whole before the end of the text.
    if (what.startsWith('more after') || what.startsWith('a body after')) continue
    for (let end = 0; end < text.length; end++)
      assert.equal(read([text.slice(0, end)], method, true), null, `${what}: ${end}`)
  }
})

test('a body without length ends with the connection, which is not kept', () => {
  const answers: [head: string, status?: number][] = [
    [`${ok}\r\n`],
    [`${ok}connection: keep-alive\r\n\r\n`],
    [`${ok}transfer-encoding: identity\r\n\r\n`],
    [`${ok}transfer-encoding: chunked, gzip\r\n\r\n`],
    [`${ok}transfer-encoding: xchunked\r\n\r\n`],
    // To HTTP, 0xa0 is no blank.
    [`${ok}transfer-encoding: chunked\xa0\r\n\r\n`],
    ['HTTP/1.0 200 OK\r\nconnection: keep-alive\r\n\r\n'],
    ['HTTP/1.1 205 Reset Content\r\n\r\n', 205],
  ]
  for (const [head, status = 200] of answers)
    for (const pieces of cuts(`${head}1\r\n.\r\n`)) {
      assert.equal(read(pieces), null)
      const expected = { ...plain, status, body: '1\r\n.\r\n', isKept: false }
      assert.deepEqual(read(pieces, 'GET', true), expected, head)
    }
})

const invalid: [what: string, text: string][] = [
  ['another protocol', 'SSH-2.0-OpenSSH_9.9\r\n'],
  ['another protocol without a line break', 'RTSP/1.0'],
  ['another version', 'HTTP/2.0 200 OK\r\n\r\n'],
  ['a version of three numbers', 'HTTP/1.1.1 200 OK\r\n\r\n'],
  ['a later version', 'HTTP/1.2 200 OK\r\n\r\n'],
  ['small letters', 'http/1.1 200 OK\r\n\r\n'],
  ['an empty line first', `\r\n${empty}\r\n`],
  ['no status', 'HTTP/1.1\r\n\r\n'],
  ['a status of two digits', 'HTTP/1.1 20 OK\r\n\r\n'],
  ['a status of four digits', 'HTTP/1.1 2000 OK\r\n\r\n'],
  ['a status below 100', 'HTTP/1.1 099 OK\r\n\r\n'],
  ['two blanks before the status', 'HTTP/1.1  200 OK\r\n\r\n'],
  ['a tab before the reason', 'HTTP/1.1 200\tOK\r\n\r\n'],
  ['a control character in the reason', 'HTTP/1.1 200 O\x01K\r\n\r\n'],
  ['lines that end with a line feed', 'HTTP/1.1 200 OK\ncontent-length: 0\n\n'],
  ['a header that ends with a line feed', `${empty}x: y\nz: a\r\n\r\n`],
  ['an empty line of a line feed', `${empty}\n`],
  ['a carriage return in a header', `${empty}x: a\rb\r\n\r\n`],
  ['a zero in a header', `${empty}x: a\0b\r\n\r\n`],
  ['a DEL in a header', `${empty}x: \x7f\r\n\r\n`],
  ['a header without colon', `${empty}nothing\r\n\r\n`],
  ['a header without colon before one with it', `${empty}nothing\r\nx: y\r\n\r\n`],
  ['a header without name', `${empty}: y\r\n\r\n`],
  ['a blank in a name', `${empty}x y: z\r\n\r\n`],
  ['a blank before the colon', `${ok}content-length : 5\r\n\r\nhello`],
  ['a folded line', `${empty}x: y\r\n z: a\r\n\r\n`],
  ['a folded line first', `${ok} x: y\r\ncontent-length: 0\r\n\r\n`],
  ['a name beyond ASCII', `${empty}\xe9: y\r\n\r\n`],
  ['a broken header of an interim answer', `HTTP/1.1 103 Hints\r\nx\r\n\r\n${empty}\r\n`],
  ['nonsense after an interim answer', 'HTTP/1.1 100 Continue\r\n\r\nnonsense'],
  ['two lengths', `${ok}content-length: 5\r\ncontent-length: 6\r\n\r\n`],
  ['one length twice', `${ok}content-length: 5\r\nContent-Length: 5\r\n\r\nhello`],
  ['a list of lengths', `${ok}content-length: 5, 5\r\n\r\nhello`],
  ['a length and chunks', `${ok}content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n`],
  ['a length and another coding', `${ok}transfer-encoding: gzip\r\ncontent-length: 5\r\n\r\n`],
  ['no length in it', `${ok}content-length:\r\n\r\n`],
  ['a negative length', `${ok}content-length: -1\r\n\r\n`],
  ['a length with a sign', `${ok}content-length: +1\r\n\r\n`],
  ['a length in hexadecimal', `${ok}content-length: 0x1\r\n\r\n`],
  ['a length with a fraction', `${ok}content-length: 1.0\r\n\r\n`],
  ['a length with a blank inside', `${ok}content-length: 1 0\r\n\r\n`],
  ['a length with what only looks like a blank', `${ok}content-length: 5\xa0\r\n\r\nhello`],
  ['a length that cannot be counted', `${ok}content-length: 9999999999999999\r\n\r\n`],
  ['chunked twice', `${ok}transfer-encoding: chunked, chunked\r\n\r\n`],
  ['chunked on two lines', `${ok}transfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n\r\n`],
  ['a chunk without length', `${chunked}\r\n`],
  ['a chunk with only an extension', `${chunked};a=b\r\n`],
  ['a chunk length that is no number', `${chunked}g\r\n`],
  ['a chunk length with a sign', `${chunked}-1\r\n`],
  ['a chunk length in another notation', `${chunked}0x1\r\n`],
  ['a blank after the chunk length', `${chunked}1 \r\n.\r\n`],
  ['a blank before the chunk length', `${chunked} 1\r\n.\r\n`],
  ['a chunk length that cannot be counted', `${chunked}10000000000000\r\n`],
  ['a chunk line of half a break', `${chunked}1\n.\r\n`],
  ['a chunk line of the other half', `${chunked}1\r.\r\n`],
  ['half a break in a chunk extension', `${chunked}1;a\rb\r\n.\r\n`],
  ['the other half in a chunk extension', `${chunked}1;a\n.\r\n`],
  ['a chunk longer than it says', `${chunked}1\r\n..\r\n`],
  ['a chunk that ends with half a break', `${chunked}1\r\n.\n0\r\n\r\n`],
  ['a chunk that ends with the other half', `${chunked}1\r\n.\r\r\n`],
  ['half a break for the end of the chunks', `${chunked}0\r\n\n`],
  ['half a break and more for the end of the chunks', `${chunked}0\r\n\nx: y\r\n\r\n`],
  ['the other half for the end of the chunks', `${chunked}0\r\n\rx`],
  ['a trailer line that is no header', `${chunked}0\r\nnothing\r\n\r\n`],
  ['a trailer line that ends with half a break', `${chunked}0\r\nx: y\n\r\n\r\n`],
  ['a folded trailer line', `${chunked}0\r\nx: y\r\n z\r\n\r\n`],
  ['a control character in a trailer line', `${chunked}0\r\nx: \x01\r\n\r\n`],
]

test('an answer that can be read in two ways is refused, for every split into pieces', () => {
  for (const [what, text] of invalid)
    for (const pieces of cuts(text))
      assert.throws(() => read(pieces), InvalidResponse, `${what}: ${JSON.stringify(pieces)}`)
})

test('another protocol than asked for is an error of its own', () => {
  for (const pieces of cuts('HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\n\r\n'))
    assert.throws(
      () => read(pieces),
      (error) => error instanceof Error && !(error instanceof InvalidResponse),
    )
})

test('headers and trailer lines have a limit that does not depend on the pieces they come in', () => {
  const bytesMax = 16_384
  for (const [before, first, after, body] of [
    ['', `${ok}content-length: 1\r\nx: `, '\r\n\r\n.', '.'],
    [`${chunked}1\r\n.\r\n0\r\n`, 'x: ', '\r\n\r\n', '.'],
  ] as const) {
    const fits = first + 'x'.repeat(bytesMax - first.length)
    const nearEnd = [1, 2, 3, 4, 5].map((left) => before.length + bytesMax + left - 2)
    for (const cut of [0, ...nearEnd]) {
      const text = before + fits + after
      assert.equal(read([text.slice(0, cut), text.slice(cut)])?.body, body, `${cut}`)
      const longer = `${before}${fits}x${after}`
      assert.throws(() => read([longer.slice(0, cut), longer.slice(cut)]), InvalidResponse, `${cut}`)
    }
    // Known before its end comes, which may never be.
    assert.throws(() => read([before, ...`${fits}xxxx`]), InvalidResponse)
  }
})

test('ten interim answers are read, an eleventh is refused', () => {
  const interim = 'HTTP/1.1 103 Hints\r\n\r\n'
  const text = `${interim.repeat(10)}${empty}\r\n`
  for (const pieces of [[text], [...text]]) assert.deepEqual(read(pieces), plain)
  const longer = interim + text
  for (const pieces of [[longer], [...longer]]) assert.throws(() => read(pieces), InvalidResponse)
})

test('chunk extensions have a limit for each chunk and for all of them together', () => {
  const chunk = (bytes: number) => `1;${'x'.repeat(bytes)}\r\n.\r\n`
  const end = '0\r\n\r\n'
  const whole = `${chunked}${chunk(1_024).repeat(16)}${end}`
  for (const pieces of [[whole], [...whole]]) assert.equal(read(pieces)?.body, '.'.repeat(16))
  for (const tooLong of [
    `${chunked}${chunk(1_025)}`,
    `${chunked}${chunk(1_024).repeat(16)}${chunk(1)}`,
    // Known before its end comes, which may never be.
    `${chunked}1;${'x'.repeat(1_025)}`,
  ])
    for (const pieces of [[tooLong], [...tooLong]]) assert.throws(() => read(pieces), InvalidResponse)
})

test('every byte of an answer counts, heads and framing included, and none after it', () => {
  const answers = [
    `HTTP/1.1 103 Hints\r\n\r\n${ok}content-length: 5\r\n\r\nhello`,
    `${chunked}5;a=b\r\nhello\r\n0\r\nx: y\r\n\r\n`,
  ]
  for (const text of answers)
    for (const pieces of cuts(text)) {
      const readUpTo = (bytesMax: number) => {
        const reader = new ResponseReader()
        reader.begin('GET', bytesMax)
        let isWhole = false
        for (const piece of pieces) isWhole = reader.read(Buffer.from(piece), () => {})
        return isWhole
      }
      assert.equal(readUpTo(text.length), true)
      assert.throws(() => readUpTo(text.length - 1), ResponseTooLarge)
      const reader = new ResponseReader()
      reader.begin('GET', text.length)
      assert.equal(
        reader.read(Buffer.from(`${text}more`), () => {}),
        true,
      )
    }
})

test('a reader begins anew with each answer', () => {
  const reader = new ResponseReader()
  const first = Buffer.from(`${ok}retry-after: 7\r\nkeep-alive: timeout=5\r\ncontent-length: 1\r\n\r\n.`)
  const second = Buffer.from('HTTP/1.1 404 Not Found\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n')
  for (let n = 0; n < 2; n++) {
    reader.begin('GET', Infinity)
    assert.equal(
      reader.read(first, () => {}),
      true,
    )
    const kept = reader.headers
    reader.begin('GET', Infinity)
    assert.equal(
      reader.read(second, () => {}),
      true,
    )
    assert.deepEqual(
      [reader.status, reader.headers, reader.keepAliveSeconds, reader.isKept],
      [404, {}, null, true],
    )
    assert.deepEqual(kept, { 'retry-after': '7' })
  }
})
