// Values that no client should send: each is known to have broken some layer below.
import type { Dice } from './dice.ts'

/** JSON text that `JSON.stringify` would not write: numbers as they were typed. */
const { rawJSON, isRawJSON } = JSON as unknown as {
  rawJSON(text: string): unknown
  isRawJSON(value: unknown): boolean
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !isRawJSON(value)
}

/** Odd, and still fit to be stored: a name may be any of them. */
export const oddTexts: readonly string[] = [
  "Robert'); DROP TABLE jobs;--",
  `"quoted" \\ 'single' \`back\``,
  '$1 %s {{y}} %{z}',
  'שלום עולם',
  '\u202eright to left',
  'e\u0301 ﷺ 👩‍👩‍👧‍👦 𝔘𝔫𝔦',
  'line\r\nbreak\ttab',
  '<script>alert(1)</script>',
  '../../etc/passwd',
  'null',
  'NaN',
  '0',
  ' leading and trailing ',
  '\ufeffmarked',
  '\u2028\u2029\u0085',
  '__proto__',
]

/** Not fit to be stored. */
export const brokenTexts: readonly string[] = ['\0', 'a\0b', '\ud800', 'x\udfff', '\udc00\ud800']

export const oddNumbers: readonly unknown[] = [
  -1,
  0,
  rawJSON('-0'),
  0.1,
  1.5,
  -2_147_483_649,
  2_147_483_648,
  4_294_967_296,
  Number.MAX_SAFE_INTEGER,
  rawJSON('9007199254740993'),
  rawJSON('1e400'),
  rawJSON('-1e400'),
  rawJSON('1e-400'),
  1e308,
  rawJSON('123456789012345678901234567890'),
]

export function oddValue(dice: Dice): unknown {
  const kind = dice.below(8)
  if (kind === 0) return null
  if (kind === 1) return dice.pick(oddNumbers)
  if (kind === 2) return dice.pick(oddTexts)
  if (kind === 3) return dice.pick(brokenTexts)
  if (kind === 4) return dice.chance(0.5)
  if (kind === 5) return dice.pick<unknown>([[], [null], [[]], {}, { '': '' }, [1, 'a', {}]])
  if (kind === 6) return nested(dice.pick([5, 62, 70, 500]), dice.chance(0.5))
  return ownKey(dice.pick(['__proto__', 'constructor', 'toString', '\0', '\ud800', '$ref', '~1/']), {
    a: dice.pick(oddNumbers),
  })
}

/** As JSON.parse would make it: even `__proto__` becomes a key of the object's own. */
export function ownKey(key: string, value: unknown, object: object = {}): object {
  return Object.defineProperty({ ...object }, key, {
    value,
    enumerable: true,
    configurable: true,
    writable: true,
  })
}

function nested(depth: number, asObjects: boolean): unknown {
  let value: unknown = asObjects ? { end: true } : []
  for (let level = 1; level < depth; level++) value = asObjects ? { a: value } : [value]
  return value
}

/** Bytes in the place of a JSON body. */
export function oddBody(dice: Dice, valid: string): Buffer {
  const kind = dice.below(10)
  if (kind === 0) return Buffer.from(valid.slice(0, dice.below(valid.length + 1)))
  if (kind === 1) return Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), Buffer.from(valid)])
  if (kind === 2) return Buffer.from(valid, 'utf16le')
  if (kind === 3) return Buffer.from([0xff, 0xfe, 0x00, 0xc3, 0x28])
  if (kind === 4) return Buffer.from(`${valid}${valid}`)
  if (kind === 5) return Buffer.from('['.repeat(dice.pick([10, 65, 50_000])))
  if (kind === 6) return Buffer.from('name=a&schedule=b')
  if (kind === 7)
    return Buffer.from(dice.pick(['', ' ', 'null', '0', '""', '[]', 'true', '{', '"', '{}x', '{"a":1,}']))
  if (kind === 8) return Buffer.from(JSON.stringify('x'.repeat(300_000)))
  return Buffer.from(valid.replace(/:/, dice.pick([': 1e400,"x":', '::', ':/**/', ':\u00a0'])))
}
