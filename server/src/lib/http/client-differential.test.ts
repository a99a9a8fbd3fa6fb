// Answers of all kinds, most of them broken, read by our client and by undici, which has Node's own well-tried parser
// (llhttp): both see the same status and body, or both see none. Deliberate differences are listed, with their reasons.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import test, { type TestContext } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { Client } from 'undici'
import { cleanUp } from '../../../test/cleanup.ts'
import { Dice } from '../../../test/fuzz/dice.ts'
import { realTimers } from '../time/timers.ts'
import { HttpClient } from './client.ts'

const seed = 20_260
const answersCount = 1_500

type Seen = { status: number; body: string } | 'failed'

interface Difference {
  why: string
  /** One character a byte. */
  pattern: RegExp
  /** An answer that the two do see differently: a difference that is gone must go from the list. */
  example: string
}

// Anything that may come before the answer, and its first line up to the reason.
const interim = String.raw`^(?:HTTP/1\.[01] 1\d\d(?:[^\r]|\r(?!\n\r\n))*\r\n\r\n)*`
const reason = String.raw`${interim}HTTP/1\.[01] \d{3} `
const ok = 'HTTP/1.1 200 OK\r\n'
const chunked = `${ok}transfer-encoding: chunked\r\n\r\n`

/** undici reads an answer, and we none. */
const stricter: Difference[] = [
  {
    why: 'a reason has no control characters (RFC 9112, 4); half a line break there ends the line for some readers',
    pattern: new RegExp(String.raw`${reason}(?:[^\r\n]|\r(?!\n))*[\0-\x08\x0b-\x1f\x7f](?!\n)`),
    example: 'HTTP/1.1 200 O\x01K\r\ncontent-length: 0\r\n\r\n',
  },
  {
    why: 'the limit of the head counts the reason too: it is memory as any other',
    pattern: new RegExp(String.raw`${reason}[^\r\n]{16000}`),
    example: `HTTP/1.1 200 ${'x'.repeat(17_000)}\r\ncontent-length: 0\r\n\r\n`,
  },
  {
    why: 'nothing comes before an answer; what does is the rest of another one',
    pattern: new RegExp(String.raw`${interim}[\r\n]`),
    example: `\r\n${ok}content-length: 0\r\n\r\n`,
  },
  {
    why: 'we speak HTTP/1.0 and HTTP/1.1, and asked in one of them',
    pattern: new RegExp(String.raw`${interim}(?!HTTP/1\.[01])[A-Z]+/\d\.\d `),
    example: 'HTTP/2.0 200 OK\r\ncontent-length: 0\r\n\r\n',
  },
  {
    why: 'chunked twice is forbidden (RFC 9112, 6.1), and can be unpacked once or twice',
    pattern: /transfer-encoding:[^\n]*chunked(?:[^\n]*chunked|.*\ntransfer-encoding:[^\n]*chunked)/is,
    example: `${ok}transfer-encoding: chunked, chunked\r\n\r\n0\r\n\r\n`,
  },
  {
    why: 'the digits of a chunk length are counted, not its value: 13 are enough for anybody',
    pattern: /\r\n[0-9a-f]{14}/i,
    example: `${chunked}${'0'.repeat(13)}1\r\n.\r\n0\r\n\r\n`,
  },
]

/** We read an answer, and undici none. */
const moreLenient: Difference[] = [
  {
    why: 'the grammar of a chunk extension is not checked, only that its line is one; it means nothing to us',
    pattern: /\r\n[0-9a-f]+;[^\r\n]*\r\n/i,
    example: `${chunked}1;a = b\r\n.\r\n0\r\n\r\n`,
  },
  {
    why: 'blanks after a value are not part of it (RFC 9112, 5); undici compares the length with them',
    pattern: /content-length:[ \t]*\d+[ \t]+\r\n/i,
    example: `${ok}content-length: 1 \r\n\r\n.`,
  },
  {
    why: 'a 100 that nobody asked for is skipped as any interim answer (RFC 9110, 15.2)',
    pattern: new RegExp(String.raw`${interim}HTTP/1\.[01] 100[ \r]|^HTTP/1\.[01] 100[ \r]`),
    example: `HTTP/1.1 100 Continue\r\n\r\n${ok}content-length: 0\r\n\r\n`,
  },
  {
    why: 'a trailer line changes nothing about the message, also when it is named after a length (RFC 9110, 6.5.1)',
    pattern: /\r\n0+\r\n.*(?:content-length|transfer-encoding):/is,
    example: `${chunked}0\r\ncontent-length: 5\r\n\r\n`,
  },
]

function sideOf(ours: Seen, theirs: Seen): 'same' | 'strict' | 'lenient' {
  if ((ours === 'failed') === (theirs === 'failed')) return 'same'
  return ours === 'failed' ? 'strict' : 'lenient'
}

function whyDifferent(text: string, ours: Seen, theirs: Seen): string | null {
  const known = ours === 'failed' ? stricter : theirs === 'failed' ? moreLenient : []
  return known.find(({ pattern }) => pattern.test(text))?.why ?? null
}

const heads = [
  'HTTP/1.1 200 OK\r\n',
  'HTTP/1.1 200 OK\r\n',
  'HTTP/1.1 500 Internal Server Error\r\n',
  'HTTP/1.0 200 OK\r\n',
  'HTTP/1.1 204 No Content\r\n',
  'HTTP/1.1 304 Not Modified\r\n',
  'HTTP/1.1 404\r\n',
  'HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\nHTTP/1.1 200 OK\r\n',
]
const headers = [
  'content-type: text/plain\r\n',
  'x-empty:\r\n',
  'X-Latin: \xe9\r\n',
  'connection: close\r\n',
  'connection: keep-alive\r\n',
  'keep-alive: timeout=5\r\n',
]
const bodies = [
  'content-length: 5\r\n\r\nhello',
  'content-length: 0\r\n\r\n',
  'Content-Length: 12\r\n\r\nhello\r\n\r\nyou',
  'transfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n',
  'transfer-encoding: chunked\r\n\r\n3\r\nhel\r\n02\r\nlo\r\n0\r\nx-sum: 1\r\n\r\n',
  'Transfer-Encoding: gzip, chunked\r\n\r\n5;a=b\r\nhello\r\nA;c="d"\r\n0123456789\r\n0\r\n\r\n',
  'transfer-encoding: gzip\r\n\r\nhello',
  '\r\nhello',
]
const oddParts = [
  ...[
    '\r',
    '\n',
    '\r\n',
    '\r\n\r\n',
    '\n\n',
    '\0',
    ' ',
    '\t',
    '\x7f',
    '\xa0',
    '\xff',
    ':',
    ';',
    ',',
    '-',
    '0',
    '1',
    'f',
  ],
  ...[
    'content-length: 5\r\n',
    'content-length: 7\r\n',
    'transfer-encoding: chunked\r\n',
    'HTTP/1.1 ',
    '0\r\n\r\n',
  ],
  ...['HTTP/1.1 100 Continue\r\n\r\n', ' folded\r\n', 'chunked', 'ffffffffffffffff', 'x'.repeat(17_000)],
]

function makeAnswer(dice: Dice): string {
  const some = dice.shuffle(headers).slice(0, dice.below(3))
  let text = dice.pick(heads) + some.join('') + dice.pick(bodies)
  for (let changes = dice.below(4); changes > 0; changes--) text = change(dice, text)
  return text
}

function change(dice: Dice, text: string): string {
  const at = dice.below(text.length + 1)
  const end = Math.min(text.length, at + dice.between(1, 8))
  switch (dice.below(5)) {
    case 0:
      return text.slice(0, at) + dice.pick(oddParts) + text.slice(at)
    case 1:
      return text.slice(0, at) + dice.pick(oddParts) + text.slice(at + 1)
    case 2:
      return text.slice(0, at) + text.slice(end)
    case 3:
      return text.slice(0, end) + text.slice(at)
    default:
      return text.slice(0, at) + String.fromCharCode(dice.below(256)) + text.slice(at + 1)
  }
}

interface Answer {
  text: string
  /** Where its second piece begins. */
  cut: number
}

/** A target that answers the call to `/n` with the n-th of these, in two pieces, and closes. */
async function setup(t: TestContext, answers: Answer[]) {
  const server = createServer((socket) => {
    socket.on('error', () => {}).setNoDelay(true)
    socket.once('data', (data) => {
      const { text, cut } = answers[Number(/\/(\d+)/.exec(data.toString())![1])]!
      socket.write(text.slice(0, cut), 'latin1', () =>
        setImmediate(() => socket.end(text.slice(cut), 'latin1')),
      )
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  cleanUp(t, () => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function askOurs(origin: string, path: string): Promise<Seen> {
  await using client = new HttpClient(realTimers, () => performance.now())
  const limits = { timeoutMs: 20_000, responseBytesMax: 1_000_000, previewBytesMax: 1_000_000 }
  const outcome = await client.send({
    tenantId: 'default',
    method: 'GET',
    url: origin + path,
    headers: {},
    ...limits,
  })
  if (outcome.kind === 'answered')
    return { status: outcome.status, body: Buffer.from(outcome.preview).toString('latin1') }
  assert(outcome.type === 'INVALID_RESPONSE' || outcome.type === 'CONNECTION_RESET', JSON.stringify(outcome))
  return 'failed'
}

async function askUndici(origin: string, path: string): Promise<Seen> {
  const client = new Client(origin, { pipelining: 1 })
  const seen = { status: 0, body: '' }
  const { promise, resolve } = Promise.withResolvers<Seen>()
  client.dispatch(
    { path, method: 'GET' },
    {
      onRequestStart() {},
      onResponseStart(_, status) {
        seen.status = status
      },
      onResponseData(_, part) {
        seen.body += part.toString('latin1')
      },
      onResponseEnd: () => resolve(seen),
      onResponseError: () => resolve('failed'),
    },
  )
  const result = await promise
  await client.destroy()
  return result
}

async function compare(
  t: TestContext,
  answers: Answer[],
  onSeen: (text: string, ours: Seen, theirs: Seen) => void,
) {
  const origin = await setup(t, answers)
  let next = 0
  const compareNext = async () => {
    for (let n = next++; n < answers.length; n = next++) {
      const [ours, theirs] = await Promise.all([askOurs(origin, `/${n}`), askUndici(origin, `/${n}`)])
      onSeen(answers[n]!.text, ours, theirs)
    }
  }
  await Promise.all(Array.from({ length: 16 }, compareNext))
}

test('our client and undici read any answer of a target the same way', { timeout: 60_000 }, async (t) => {
  const dice = new Dice(seed)
  const answers = Array.from({ length: answersCount }, () => {
    const text = makeAnswer(dice)
    return { text, cut: dice.below(text.length + 1) }
  })
  const found: string[] = []
  let [failed, answered] = [0, 0]
  await compare(t, answers, (text, ours, theirs) => {
    if (!isDeepStrictEqual(ours, theirs)) {
      const short = text.replace(/x{99,}/, 'x...')
      if (whyDifferent(text, ours, theirs) === null) found.push(JSON.stringify({ short, ours, theirs }))
    } else if (ours === 'failed') failed += 1
    else answered += 1
  })
  assert.deepEqual(found, [])
  // Neither is rare, or nothing much was compared.
  assert(failed > answersCount / 4 && answered > answersCount / 4, JSON.stringify({ failed, answered }))
})

test('where our client and undici differ is known, and each difference is still there', async (t) => {
  const answers = [...stricter, ...moreLenient].map(({ example }) => ({ text: example, cut: 0 }))
  const seen = new Map<string, string>()
  await compare(t, answers, (text, ours, theirs) => seen.set(text, sideOf(ours, theirs)))
  for (const [side, differences] of [['strict', stricter] as const, ['lenient', moreLenient] as const])
    for (const { why, pattern, example } of differences) {
      assert.match(example, pattern)
      assert.equal(seen.get(example), side, why)
    }
})
