// "Did you mean": the nearest of the words there are.
import { editDistance } from './edit-distance.ts'

/** Null: nothing is near enough to be meant. */
export function nearestOf(word: string, candidates: Iterable<string>): string | null {
  const asked = word.toLowerCase()
  // One wrong letter in three may be a slip; more is another word.
  let limit = 2 + Math.floor(asked.length / 3)
  let nearest: string | null = null
  for (const candidate of candidates) {
    const distance = editDistance(asked, candidate.toLowerCase(), limit)
    if (distance >= limit) continue
    limit = distance
    nearest = candidate
  }
  return nearest
}

/** To be put behind a sentence. */
export function didYouMean(word: string, candidates: Iterable<string>, prefix = ''): string {
  const nearest = nearestOf(word, candidates)
  return nearest === null ? '' : ` Did you mean ${prefix}${nearest}?`
}
