// Parts of a request that are not as they should be, beside its body.
import type { Dice } from './dice.ts'
import { oddTexts } from './garbage.ts'

type Headers = Record<string, string | string[]>

export const oddContentTypes: readonly string[] = [
  'text/plain',
  'application/xml',
  'application/json; charset=utf-16',
  'application/json;charset=latin1',
  'APPLICATION/JSON',
  'application/json; charset=utf-8; boundary=x',
  'application/merge-patch+json',
  'application/jsonp',
  'multipart/form-data; boundary=x',
  'application/x-www-form-urlencoded',
  '*/*',
  'json',
  '/',
  ' ',
]

/** As it stands in a URL. */
export function oddParameter(dice: Dice): string {
  const kind = dice.below(6)
  if (kind === 0) return dice.uuid()
  if (kind === 1) return dice.uuid().toUpperCase()
  if (kind === 2) return encodeURIComponent(dice.pick(oddTexts))
  if (kind === 3) return dice.uuid().slice(0, dice.below(36))
  if (kind === 4) return 'x'.repeat(dice.pick([65, 129, 255, 256, 257, 1_000]))
  return dice.pick([
    '',
    '%00',
    '%',
    '%zz',
    '%ff%fe',
    '%C0%80',
    '%ED%A0%80',
    '%2F',
    '%2e%2e',
    '..',
    '%252F',
    '-1',
    '1e400',
    '0x10',
    'null',
    'true',
    '*',
    ';a=b',
    "'",
    '%22',
    '+',
    '2026-02-30',
    '2026-01-01T00:00:00+99:99',
    '9999-12-31T23:59:59Z',
    '0000-01-01',
    '-271821-04-20',
    'WyJleGVjdXRpb25zIiwiMSJd',
  ])
}

const wrongKeys: readonly (string | null)[] = [
  null,
  '',
  'Bearer',
  'Bearer ',
  'Bearer wrong',
  'Basic dXNlcjpwYXNz',
  'bearer  two spaces',
  `Bearer ${'k'.repeat(1_000)}`,
  'Bearer \u00ff\u00fe',
  'Bearer a b',
]

/** Changes the headers; returns a description of the change. */
export function oddKey(dice: Dice, headers: Headers): string {
  const value = dice.pick(wrongKeys)
  if (value === null) delete headers['authorization']
  else headers['authorization'] = value
  return `key ${value?.slice(0, 20) ?? 'missing'}`
}

const texts: Record<string, readonly string[]> = {
  'idempotency-key': [
    '',
    'same',
    'same',
    '"quoted"',
    ' ',
    'k'.repeat(255),
    'k'.repeat(1_000),
    '\u00ff',
    '\ta',
  ],
  'x-idempotency-key': ['same', 'other', ''],
  'if-match': [
    '*',
    '"1"',
    'W/"1"',
    '',
    '1',
    '"1", "2"',
    '"',
    '"99999999999999999999"',
    '"-1"',
    '"0"',
    '\u00ff',
  ],
  'if-none-match': ['*', '"1"', ''],
  'x-tenant-id': ['', 'default', '00000000-0000-0000-0000-000000000000', '../', '\u00ff', 't'.repeat(300)],
  accept: ['text/html', 'application/xml;q=1', '*/*;q=0', '', 'text/csv', 'application/x-ndjson'],
  'accept-encoding': ['gzip, br', 'identity;q=0', '*'],
  'accept-language': ['xx', '*', ''],
  'content-encoding': ['gzip', 'identity', 'br'],
  'last-event-id': ['0', '-1', 'x', '9'.repeat(100)],
  origin: ['http://evil.example', 'null'],
  cookie: ['a=b; c', ';;;', '__proto__=1'],
  traceparent: ['00-x', `00-${'0'.repeat(32)}-${'0'.repeat(16)}-00`],
  'x-http-method-override': ['DELETE'],
  'x-forwarded-for': ['1.1.1.1, ::1', "'"],
  range: ['bytes=0-1', 'bytes=-'],
  prefer: ['return=minimal'],
  'user-agent': ['', 'x'.repeat(1_000)],
}

/** Changes the headers; returns a description of the change. */
export function oddHeader(dice: Dice, headers: Headers): string {
  const name = dice.pick(['idempotency-key', 'if-match', 'x-tenant-id', ...Object.keys(texts)])
  const value = dice.pick(texts[name]!)
  // Twice the same header: some become one text with a comma, some are taken once, some are refused.
  headers[name] = dice.chance(0.15) ? [value, dice.pick(texts[name]!)] : value
  return `${name}: ${value.slice(0, 20)}`
}
