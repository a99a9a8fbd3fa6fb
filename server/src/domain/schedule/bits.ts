// Sets of up to sixty values as two words of 30 bits, low and high: both stay small positive integers, which
// keeps the searches free of allocation. Every answer is a value, or -1 for none.

export function hasBit(low: number, high: number, value: number): boolean {
  return ((value < 30 ? low >> value : high >> (value - 30)) & 1) === 1
}

export function nextBit(low: number, high: number, value: number): number {
  if (value < 30) {
    const rest = low & (-1 << value)
    if (rest !== 0) return 31 - Math.clz32(rest & -rest)
    return high === 0 ? -1 : 61 - Math.clz32(high & -high)
  }
  const rest = value >= 60 ? 0 : high & (-1 << (value - 30))
  return rest === 0 ? -1 : 61 - Math.clz32(rest & -rest)
}

export function previousBit(low: number, high: number, value: number): number {
  if (value >= 30) {
    const rest = high & ((2 << (value - 30)) - 1)
    if (rest !== 0) return 61 - Math.clz32(rest)
    return low === 0 ? -1 : 31 - Math.clz32(low)
  }
  const rest = value < 0 ? 0 : low & ((2 << value) - 1)
  return rest === 0 ? -1 : 31 - Math.clz32(rest)
}

export function lowestBit(low: number, high: number): number {
  return low !== 0 ? 31 - Math.clz32(low & -low) : 61 - Math.clz32(high & -high)
}

export function highestBit(low: number, high: number): number {
  return high !== 0 ? 61 - Math.clz32(high) : 31 - Math.clz32(low)
}

export function countBits(word: number): number {
  let v = word - ((word >>> 1) & 0x55555555)
  v = (v & 0x33333333) + ((v >>> 2) & 0x33333333)
  return Math.imul((v + (v >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24
}

/** How many members are smaller than `value`. */
export function countBelow(low: number, high: number, value: number): number {
  if (value < 30) return countBits(low & ((1 << value) - 1))
  return countBits(low) + countBits(high & ((1 << (value - 30)) - 1))
}
