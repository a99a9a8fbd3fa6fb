// Repeatable chance: the same seed and name draw the same numbers, regardless of other draws.

export type Draw = () => number

/** Uniform in [0, 1). */
export function drawsOf(seed: number, name: string): Draw {
  let state = seed >>> 0
  for (let i = 0; i < name.length; i++) state = Math.imul(state ^ name.charCodeAt(i), 0x01000193) >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

/** Around a middle, most within half and twice of it, a few far above. */
export function drawMs(draw: Draw, middleMs: number): number {
  const spread = Math.sqrt(-2 * Math.log(1 - draw())) * Math.cos(2 * Math.PI * draw())
  return Math.max(1, Math.round(middleMs * Math.exp(spread * 0.45)))
}

/** An id that begins with its time, as all ids of executions do, and ends in a zero byte, as that of a batch does. */
export function drawId(draw: Draw, ms: number): string {
  const time = Math.floor(ms).toString(16).padStart(12, '0')
  const hex = (digits: number) =>
    Math.floor(draw() * 16 ** digits)
      .toString(16)
      .padStart(digits, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-7${hex(3)}-8${hex(3)}-${hex(10)}00`
}
