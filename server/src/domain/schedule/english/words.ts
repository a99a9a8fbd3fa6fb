// Words of schedule English: splits a sentence into words with their positions and knows the possible meanings of each.
// The vocabulary is closed, so an unknown word is refused and never ignored.
import { MONTHS, WEEKDAYS } from '../describe-days.ts'

export interface Word {
  text: string
  /** As typed, for zone names. */
  raw: string
  position: number
}

export interface TimeOfDay {
  hour: number
  minute: number
  /** Written with am, pm, a colon or a word, so that no other reading is likely. */
  explicit: boolean
}

export function splitWords(text: string): Word[] {
  const words: Word[] = []
  let at = 0
  while (at < text.length) {
    const code = text.charCodeAt(at)
    if (code === 44 || code === 38) words.push({ text: 'and', raw: text[at]!, position: at++ })
    else if (isBlank(code)) at++
    else {
      const from = at
      while (at < text.length && !isBlank(text.charCodeAt(at)) && !/[,&]/.test(text[at]!)) at++
      const raw = text.slice(from, at).replace(/[.()]+$/, '')
      const bare = raw.replace(/^\(+/, '')
      if (bare !== '')
        words.push({ text: bare.toLowerCase(), raw: bare, position: from + raw.length - bare.length })
    }
  }
  // ", and" is one join, not two.
  return words.filter((word, i) => word.text !== 'and' || words[i + 1]?.text !== 'and')
}

function isBlank(code: number): boolean {
  return code === 32 || code === 9 || code === 10 || code === 13
}

const weekdays = WEEKDAYS.map((name) => name.toLowerCase())
const weekdayShort: Record<string, number> = { tues: 2, weds: 3, thur: 4, thurs: 4 }
const months = MONTHS.map((name) => name.toLowerCase())
const ordinals = [
  'first',
  'second',
  'third',
  'fourth',
  'fifth',
  'sixth',
  'seventh',
  'eighth',
  'ninth',
  'tenth',
]
const numbers = [
  'one',
  'two',
  'three',
  'four',
  'five',
  'six',
  'seven',
  'eight',
  'nine',
  'ten',
  'eleven',
  'twelve',
]

const tens: Record<string, number> = {
  fifteen: 15,
  twenty: 20,
  thirty: 30,
  'forty-five': 45,
  sixty: 60,
  ninety: 90,
}

const UNITS = ['second', 'minute', 'hour', 'day', 'week', 'month', 'quarter', 'year'] as const
export type Unit = (typeof UNITS)[number]
const unitShort: Record<string, Unit> = {
  sec: 'second',
  min: 'minute',
  hr: 'hour',
  mins: 'minute',
  secs: 'second',
  hrs: 'hour',
}

/** 0 is Sunday; null for any other word. `monday`, `mondays`, `mon` and `tues` are weekdays. */
export function weekdayOfWord(word: string): number | null {
  if (Object.hasOwn(weekdayShort, word)) return weekdayShort[word]!
  const found = weekdays.findIndex(
    (name) => word === name || word === `${name}s` || word === name.slice(0, 3),
  )
  return found < 0 ? null : found
}

/** 1 is January. */
export function monthOfWord(word: string): number | null {
  const found = months.findIndex(
    (name) => word === name || word === name.slice(0, 3) || (word === 'sept' && name === 'september'),
  )
  return found < 0 ? null : found + 1
}

/** `1st`, `first`, `22nd`: 1 to 31. -1 is `last`. */
export function ordinalOfWord(word: string): number | null {
  if (word === 'last') return -1
  const named = ordinals.indexOf(word)
  if (named >= 0) return named + 1
  const written = /^(\d{1,2})(st|nd|rd|th)$/.exec(word)
  const value = Number(written?.[1] ?? 0)
  return value >= 1 && value <= 31 ? value : null
}

export function numberOfWord(word: string): number | null {
  const named = numbers.indexOf(word)
  if (named >= 0) return named + 1
  if (Object.hasOwn(tens, word)) return tens[word]!
  return /^\d{1,6}$/.test(word) ? Number(word) : null
}

export function unitOfWord(word: string): Unit | null {
  if (Object.hasOwn(unitShort, word)) return unitShort[word]!
  const single = word.endsWith('s') ? word.slice(0, -1) : word
  return (UNITS as readonly string[]).includes(single) ? (single as Unit) : null
}

const adverbs: Record<string, Unit> = {
  hourly: 'hour',
  daily: 'day',
  weekly: 'week',
  monthly: 'month',
  quarterly: 'quarter',
  yearly: 'year',
  annually: 'year',
}

export function unitOfAdverb(word: string): Unit | null {
  return Object.hasOwn(adverbs, word) ? adverbs[word]! : null
}

/** A time in one or two words (`9 am`), and how many words it took; null when it is none. */
export function timeOfWords(words: readonly Word[], at: number): { time: TimeOfDay; length: number } | null {
  const word = words[at]?.text ?? ''
  if (word === 'noon' || word === 'midday')
    return { time: { hour: 12, minute: 0, explicit: true }, length: 1 }
  if (word === 'midnight') return { time: { hour: 0, minute: 0, explicit: true }, length: 1 }
  const written = /^(\d{1,2})(?:[:.h](\d\d))?(am|pm|a\.m|p\.m)?$/.exec(word)
  if (written === null) return null
  let half = written[3]?.[0] ?? null
  let length = 1
  const following = words[at + 1]?.text ?? ''
  if (half === null && /^(am|pm|a\.m|p\.m)$/.test(following)) {
    half = following[0]!
    length = 2
  }
  if (/^o'?clock$/.test(words[at + length]?.text ?? '')) length++
  const hour = Number(written[1])
  const minute = Number(written[2] ?? 0)
  if (minute > 59 || hour > 23 || (half !== null && (hour < 1 || hour > 12))) return null
  const explicit = half !== null || written[2] !== undefined
  // 12 am is midnight and 12 pm is noon.
  const clock = half === null ? hour : (hour % 12) + (half === 'p' ? 12 : 0)
  return { time: { hour: clock, minute, explicit }, length }
}

/** Every word the grammar knows, for near misses. */
export const VOCABULARY: readonly string[] = [
  ...weekdays,
  ...months,
  ...ordinals,
  ...numbers,
  ...Object.keys(tens),
  ...UNITS,
  ...UNITS.map((unit) => `${unit}s`),
  ...'every each other at on in of the and from to until between through last day days weekday weekdays'.split(
    ' ',
  ),
  ...'weekend weekends noon midnight hourly daily weekly monthly yearly quarterly half month time'.split(' '),
]
