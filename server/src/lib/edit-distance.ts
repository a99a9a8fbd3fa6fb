// How far two words are apart: for near suggestions in refusals.

/** Longer words count as far apart. */
const lettersMax = 32

// Reused between calls: suggestions compare one word with hundreds, and must stay far below a millisecond.
let beforeRow = new Uint8Array(lettersMax + 1)
let previousRow = new Uint8Array(lettersMax + 1)
let currentRow = new Uint8Array(lettersMax + 1)

/** Fewest letters put in, left out, changed or swapped with the next to turn a word into another, up to `limit`. */
export function editDistance(a: string, b: string, limit: number): number {
  if (Math.abs(a.length - b.length) >= limit || a.length > lettersMax || b.length > lettersMax) return limit
  for (let j = 0; j <= b.length; j++) previousRow[j] = j
  for (let i = 1; i <= a.length; i++) {
    currentRow[0] = i
    let least = i
    for (let j = 1; j <= b.length; j++) {
      const change = previousRow[j - 1]! + (a.charCodeAt(i - 1) === b.charCodeAt(j - 1) ? 0 : 1)
      let distance = Math.min(change, previousRow[j]! + 1, currentRow[j - 1]! + 1)
      const swapped =
        i > 1 &&
        j > 1 &&
        a.charCodeAt(i - 1) === b.charCodeAt(j - 2) &&
        a.charCodeAt(i - 2) === b.charCodeAt(j - 1)
      if (swapped) distance = Math.min(distance, beforeRow[j - 2]! + 1)
      currentRow[j] = distance
      if (distance < least) least = distance
    }
    if (least > limit) return limit
    const row = beforeRow
    beforeRow = previousRow
    previousRow = currentRow
    currentRow = row
  }
  return Math.min(previousRow[b.length]!, limit)
}
