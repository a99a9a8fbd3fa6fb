// Deterministic spreading: the same job and slot give the same number on every server and after every restart.
// FNV-1a over the text with a murmur finish; not a secret and not meant to resist guessing.

/** 32 bits from a text and two numbers. */
export function hash32(text: string, a: number, b = 0): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  hash = mix(hash ^ Math.imul(a | 0, 0x9e3779b1))
  return mix(hash ^ Math.imul(b | 0, 0x85ebca6b)) >>> 0
}

function mix(value: number): number {
  let x = value ^ (value >>> 16)
  x = Math.imul(x, 0x85ebca6b)
  x = Math.imul(x ^ (x >>> 13), 0xc2b2ae35)
  return x ^ (x >>> 16)
}
