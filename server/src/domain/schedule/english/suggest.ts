// Near texts for a sentence that was refused: the same with misspelt words put right, then known sentences that
// share most of its words. Only texts that are understood are suggested.
import { editDistance } from '../../../lib/edit-distance.ts'
import { suggestZones } from '../zone-names.ts'
import { splitWords, timeOfWords, VOCABULARY } from './words.ts'

const suggestionsMax = 3
/** A text with more unknown words than this is not a misspelt sentence. */
const unknownMax = 4

const examples = [
  'every 15 minutes',
  'every hour',
  'every hour at :15',
  'every 90 minutes',
  'every day at 10:00',
  'every day at 9:00 and 17:00',
  'every weekday at 9:00',
  'weekends at 10:00',
  'every monday at 9:00',
  'every monday and thursday at 9:00',
  'every other week',
  'every other friday at 9:00',
  'second friday of the month at 9:00',
  'every 15 minutes between 9 and 17 on weekdays',
  'every hour from 9:00 to 17:00',
  'on the 1st of the month at 6:00',
  'on the 1st and 15th at 6:00',
  'last day of the month at 23:00',
  'last friday of the month at 18:30',
  'last weekday of the month at 17:00',
  'every quarter at 6:00',
  'every january on the 1st at 0:00',
  'every 3 months',
]

const splitsMax = 8

/** Two sentences joined by "and", each understood by itself; a time or zone at the end may hold for both. */
export function splitInTwo(
  text: string,
  isUnderstood: (text: string) => boolean,
): { texts: [string, string]; position: number } | null {
  const joints = [...text.matchAll(/,?\s+and\s+|\s*[,;]\s*/gi)].slice(0, splitsMax)
  for (const joint of joints) {
    const second = text.slice(joint.index + joint[0].length).trim()
    const first = text.slice(0, joint.index).trim()
    const zone = /\s+in\s+\S+$/i.exec(second)?.[0] ?? ''
    const tail = / at /i.test(first) ? zone : (/\s+at\s+.+$/i.exec(second)?.[0] ?? zone)
    const whole = [first + tail, first + zone, first].find(isUnderstood)
    if (whole !== undefined && isUnderstood(second)) {
      return { texts: [whole, second], position: joint.index + joint[0].length }
    }
  }
  return null
}

export function suggestTexts(text: string, isUnderstood: (text: string) => boolean): string[] {
  const words = splitWords(text.slice(0, 256))
  const corrected = correctWords(text, words)
  const found = corrected !== null && isUnderstood(corrected) ? [corrected] : []
  const given = new Set(splitWords(corrected ?? text).map((word) => word.text))
  const scored = examples
    .map((example) => ({ example, score: shareOfWords(example, given) }))
    .filter(({ score }) => score >= 0.25)
    .sort((a, b) => b.score - a.score)
  for (const { example } of scored) {
    if (found.length < suggestionsMax && !found.includes(example)) found.push(example)
  }
  return found.length > 0 ? found : ['every day at 10:00', 'every weekday at 9:00', 'every 15 minutes']
}

function correctWords(text: string, words: ReturnType<typeof splitWords>): string | null {
  let out = text
  let corrected = 0
  let unknown = 0
  // From the end, so that earlier positions stay true.
  for (const word of words.toReversed()) {
    if (word.text.length < 3 || !/^[a-z]+$/.test(word.text) || VOCABULARY.includes(word.text)) continue
    if (timeOfWords([word], 0) !== null) continue
    if (++unknown > unknownMax) return null
    let best: string | null = null
    let bestDistance = word.text.length < 5 ? 2 : 3
    for (const known of VOCABULARY) {
      const distance = editDistance(word.text, known, bestDistance)
      if (distance < bestDistance) {
        best = known
        bestDistance = distance
      }
    }
    // An unknown word after "in" is a place that was misspelt.
    if (words[words.indexOf(word) - 1]?.text === 'in') best = suggestZones(word.raw)[0] ?? best
    if (best === null) continue
    corrected++
    out = out.slice(0, word.position) + best + out.slice(word.position + word.raw.length)
  }
  return corrected === 0 ? null : out
}

function shareOfWords(example: string, given: Set<string>): number {
  const words = new Set(splitWords(example).map((word) => word.text))
  let shared = 0
  for (const word of words) if (given.has(word)) shared++
  return shared / (words.size + given.size - shared)
}
