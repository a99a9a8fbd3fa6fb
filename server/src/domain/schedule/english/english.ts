// English to a schedule: a closed grammar, read left to right, each phrase read at most once. Unknown text is refused,
// with the position and with near texts that are known; it never guesses silently.
import type { ScheduleObject } from '@carillon/contract/schedule.ts'
import type { EpochMs } from '../../../lib/time/epoch.ts'
import { type Result, refuse } from '../schedule-error.ts'
import { knownZone } from '../zone.ts'
import { zoneOfCity } from '../zone-names.ts'
import { buildSchedule } from './build.ts'
import { splitInTwo, suggestTexts } from './suggest.ts'
import {
  monthOfWord,
  numberOfWord,
  ordinalOfWord,
  splitWords,
  type TimeOfDay,
  timeOfWords,
  type Unit,
  unitOfAdverb,
  unitOfWord,
  type Word,
  weekdayOfWord,
} from './words.ts'

/** The combined meaning of the phrases of a sentence. */
export interface Sentence {
  every: { count: number; unit: Unit } | null
  weekdays: Set<number>
  /** Cron terms of the day of month (`15`, `L`, `1W`) and of the day of week (`5#2`, `5L`). */
  dayTerms: string[]
  weekdayTerms: string[]
  months: Set<number>
  /** Months that each have days of their own: "march 1 and june 15". */
  ownDays: boolean
  /** "friday the 13th": both at once; joined by "and" either is meant. */
  dayOfBoth: boolean
  times: TimeOfDay[]
  /** Where the list of times stands in the text, to suggest the same sentence with one of them. */
  timesSpan: { from: number; to: number } | null
  minutesPast: number[]
  window: { from: TimeOfDay; to: TimeOfDay } | null
  zone: string | null
}

const fillers = new Set('on the of at run runs a past during in each every and'.split(' '))
const zonesAskedMax = 4
const rangeWords = new Set(['to', 'through', 'until', 'till', 'thru', '-'])

export interface EnglishContext {
  createdAt: EpochMs
  timezone?: string | undefined
}

export function parseEnglish(text: string, context: EnglishContext): Result<ScheduleObject> {
  const read = new SentenceReader(splitWords(text)).read()
  if (typeof read === 'number') return needsTwo(text, context) ?? notUnderstood(text, read)
  const built = buildSchedule(read, text, context)
  if (built.ok) return built
  if (built.error.code === 'ENGLISH_NEEDS_TWO_SCHEDULES' && built.error.suggestions.length === 0) {
    return needsTwo(text, context) ?? built
  }
  if (built.error.code !== 'ENGLISH_NOT_UNDERSTOOD') return built
  const near = suggestTexts(text, (candidate) => isUnderstood(candidate, context))
  const suggestions = [...new Set([...built.error.suggestions, ...near])].slice(0, 3)
  return { ok: false, error: { ...built.error, suggestions } }
}

function needsTwo(text: string, context: EnglishContext): Result<never> | null {
  const two = splitInTwo(text, (candidate) => isUnderstood(candidate, context))
  if (two === null) return null
  const { position, texts: suggestions } = two
  return refuse('ENGLISH_NEEDS_TWO_SCHEDULES', 'These are two schedules: make a job of each.', {
    position,
    suggestions,
  })
}

function notUnderstood(text: string, position: number): Result<never> {
  const rest = text.slice(position).trim().split(/\s+/)[0] ?? ''
  const where =
    rest === ''
      ? 'The sentence says no time.'
      : `"${rest.slice(0, 40)}" at position ${position} is not understood.`
  const context = { createdAt: 0 as EpochMs }
  const suggestions = suggestTexts(text, (candidate) => isUnderstood(candidate, context))
  const hint =
    suggestions.length === 0 ? '' : ` Near to it: ${suggestions.map((one) => `"${one}"`).join(', ')}.`
  return refuse('ENGLISH_NOT_UNDERSTOOD', where + hint, {
    position,
    allowed: 'cron, an ISO 8601 interval, or a sentence such as "every weekday at 9:00 in London"',
    suggestions,
  })
}

function isUnderstood(text: string, context: EnglishContext): boolean {
  const read = new SentenceReader(splitWords(text)).read()
  return typeof read !== 'number' && buildSchedule(read, text, context).ok
}

/** Reads phrase after phrase; answers the position of the first word that fits no phrase. */
class SentenceReader {
  readonly #words: Word[]
  #at = 0
  #zonesAsked = 0
  /** M and D in the order in which months and days came. */
  #order = ''
  #kind: 'N' | 'W' | null = null
  readonly #out: Sentence = {
    every: null,
    weekdays: new Set(),
    dayTerms: [],
    weekdayTerms: [],
    months: new Set(),
    ownDays: false,
    dayOfBoth: false,
    times: [],
    timesSpan: null,
    minutesPast: [],
    window: null,
    zone: null,
  }

  constructor(words: Word[]) {
    this.#words = words
  }

  read(): Sentence | number {
    while (this.#at < this.#words.length) {
      const before = this.#at
      const known =
        this.#readEvery() ||
        this.#readAdverb() ||
        this.#readWindow() ||
        this.#readMinutesPast() ||
        this.#readOrdinal() ||
        this.#readDayNumber() ||
        this.#readWeekdays() ||
        this.#readZone() ||
        this.#readMonths() ||
        this.#readTimes() ||
        this.#skipFiller()
      if (!known) return this.#words[before]!.position
    }
    const { every, weekdays, dayTerms, weekdayTerms, months, times } = this.#out
    const says =
      every !== null || weekdays.size + dayTerms.length + weekdayTerms.length + months.size + times.length > 0
    this.#out.ownDays = this.#order.length > 2
    return says ? this.#out : 0
  }

  #word(ahead = 0): string {
    return this.#words[this.#at + ahead]?.text ?? ''
  }

  #setEvery(count: number, unit: Unit, length: number): boolean {
    // "every month" after "the 1st of" only repeats a unit that the sentence has already named.
    if (this.#out.every !== null || count < 1) return false
    this.#out.every = { count, unit }
    this.#at += length
    return true
  }

  #readEvery(): boolean {
    if (this.#word() !== 'every' && this.#word() !== 'each') return false
    const next = this.#word(1)
    const unit = unitOfWord(next)
    if (next === 'other') {
      const otherUnit = unitOfWord(this.#word(2))
      if (otherUnit !== null) return this.#setEvery(2, otherUnit, 3)
      if (weekdayOfWord(this.#word(2)) !== null) return this.#setEvery(2, 'week', 2)
      return false
    }
    if (next === 'half' && unitOfWord(this.#word(2)) === 'hour') return this.#setEvery(30, 'minute', 3)
    if (next === 'quarter' && unitOfWord(this.#word(2)) === 'hour') return this.#setEvery(15, 'minute', 3)
    const count = numberOfWord(next)
    const counted = unitOfWord(this.#word(2))
    if (count !== null && counted !== null) return this.#setEvery(count, counted, 3)
    const ordinal = ordinalOfWord(next)
    if (ordinal !== null && ordinal > 1 && counted !== null && this.#word(3) !== 'of') {
      return this.#setEvery(ordinal, counted, 3)
    }
    // "every second friday" does not mean the unit second; #readOrdinal decides its meaning.
    if (unit !== null && (unit !== 'second' || weekdayOfWord(this.#word(2)) === null)) {
      return this.#setEvery(1, unit, 2)
    }
    return false
  }

  #readAdverb(): boolean {
    if (this.#word() === 'fortnightly') return this.#setEvery(2, 'week', 1)
    const unit = unitOfAdverb(this.#word())
    return unit !== null && this.#setEvery(1, unit, 1)
  }

  #readWindow(): boolean {
    const word = this.#word()
    if (word !== 'between' && word !== 'from') return false
    const from = timeOfWords(this.#words, this.#at + 1)
    if (from === null) return word === 'from' && weekdayOfWord(this.#word(1)) !== null && this.#skip()
    const join = this.#word(1 + from.length)
    if (join !== 'and' && !rangeWords.has(join)) return false
    const to = timeOfWords(this.#words, this.#at + 2 + from.length)
    if (to === null || this.#out.window !== null) return false
    this.#out.window = { from: from.time, to: to.time }
    this.#at += 2 + from.length + to.length
    return true
  }

  /** `at :15`, `at minute 15`, `at 15 minutes past the hour`. */
  #readMinutesPast(): boolean {
    const start = this.#word() === 'at' ? 1 : 0
    const colon = /^:(\d\d)$/.exec(this.#word(start))
    const named = this.#word(start) === 'minute' ? numberOfWord(this.#word(start + 1)) : null
    const counted = unitOfWord(this.#word(start + 1)) === 'minute' && this.#word(start + 2) === 'past'
    const value =
      colon !== null ? Number(colon[1]) : (named ?? (counted ? numberOfWord(this.#word(start)) : null))
    if (value === null || value > 59) return false
    this.#out.minutesPast.push(value)
    this.#at += start + (colon !== null ? 1 : counted ? 3 : 2)
    if (counted) {
      if (this.#word() === 'the' || this.#word() === 'each' || this.#word() === 'every') this.#at++
      if (this.#word() === 'hour') this.#at++
    }
    return true
  }

  /** `last friday`, `first and third monday`, `first weekday`, `last day`, `15th`: the noun decides for all of them. */
  #readOrdinal(): boolean {
    const ordinals: number[] = []
    let length = 0
    for (;;) {
      const joint = ordinals.length > 0 && this.#word(length) === 'and' ? 1 : 0
      const ordinal = ordinalOfWord(this.#word(length + joint))
      if (ordinal === null) break
      // "second last" is neither the second nor the last.
      if (ordinals.length > 0 && joint === 0 && ordinal === -1) return false
      ordinals.push(ordinal)
      length += joint + 1
    }
    if (ordinals.length === 0) return false
    const next = this.#word(length)
    const weekday = weekdayOfWord(next)
    if (weekday !== null) {
      if (ordinals.some((ordinal) => ordinal > 5)) return false
      // "every second friday" may mean every other one; only "of the month" settles it.
      const previous = this.#words[this.#at - 1]?.text
      if (
        ordinals[0] === 2 &&
        (previous === 'every' || previous === 'each') &&
        this.#word(length + 1) !== 'of'
      )
        return false
      const terms = ordinals.map((ordinal) => (ordinal === -1 ? `${weekday}L` : `${weekday}#${ordinal}`))
      this.#out.weekdayTerms.push(...terms)
      return this.#skipDays('W', length + 1)
    }
    const business = next === 'business' && this.#word(length + 1) === 'day'
    if (next === 'weekday' || next === 'workday' || business) {
      if (ordinals.some((ordinal) => ordinal > 1)) return false
      this.#out.dayTerms.push(...ordinals.map((ordinal) => (ordinal === -1 ? 'LW' : '1W')))
      return this.#skipDays('N', length + (business ? 2 : 1))
    }
    if (next !== 'day' && ordinals.includes(-1)) return false
    this.#out.dayTerms.push(...ordinals.map((ordinal) => (ordinal === -1 ? 'L' : `${ordinal}`)))
    return this.#skipDays('N', length + (next === 'day' ? 1 : 0))
  }

  /** `day 15`, `days 1 and 15`. */
  #readDayNumber(): boolean {
    if (this.#word() !== 'day' && this.#word() !== 'days') return false
    const value = numberOfWord(this.#word(1))
    if (value === null || value < 1 || value > 31) return false
    this.#out.dayTerms.push(`${value}`)
    this.#skipDays('N', 2)
    while (this.#word() === 'and') {
      const more =
        timeOfWords(this.#words, this.#at + 1)?.time.explicit === true ? null : numberOfWord(this.#word(1))
      if (more === null || more < 1 || more > 31) break
      this.#out.dayTerms.push(`${more}`)
      this.#at += 2
    }
    return true
  }

  #readWeekdays(): boolean {
    const word = this.#word()
    const group = /^(weekday|workday)s?$/.test(word)
      ? [1, 2, 3, 4, 5]
      : /^weekends?$/.test(word)
        ? [6, 0]
        : null
    if (group !== null) {
      for (const day of group) this.#out.weekdays.add(day)
      return this.#skipDays('W', 1)
    }
    const dashed = /^([a-z]+)-([a-z]+)$/.exec(word)
    const first = weekdayOfWord(dashed?.[1] ?? word)
    if (first === null) return false
    const ranged = dashed !== null || rangeWords.has(this.#word(1))
    const last = ranged ? weekdayOfWord(dashed?.[2] ?? this.#word(2)) : first
    if (last === null) return false
    for (let day = first; ; day = (day + 1) % 7) {
      this.#out.weekdays.add(day)
      if (day === last) break
    }
    return this.#skipDays('W', ranged && dashed === null ? 3 : 1)
  }

  #readMonths(): boolean {
    const first = monthOfWord(this.#word())
    if (first === null) return false
    const ranged = rangeWords.has(this.#word(1))
    const last = ranged ? monthOfWord(this.#word(2)) : first
    if (last === null) return false
    for (let month = first; ; month = (month % 12) + 1) {
      this.#out.months.add(month)
      if (month === last) break
    }
    this.#at += ranged ? 3 : 1
    this.#order += this.#order.endsWith('M') ? '' : 'M'
    // "march 3", but not "march 3 pm".
    const time = timeOfWords(this.#words, this.#at)
    const day = time === null || time.length === 1 ? numberOfWord(this.#word()) : null
    if (!ranged && day !== null && day >= 1 && day <= 31) {
      this.#out.dayTerms.push(`${day}`)
      this.#skipDays('N', 1)
    }
    return true
  }

  /** `in London`, `in New York time`, `UTC`, `Europe/London`: the longest run of words that is a zone. */
  #readZone(): boolean {
    const start = this.#word() === 'in' ? 1 : 0
    for (let length = 3; length >= 1; length--) {
      const words = this.#words.slice(this.#at + start, this.#at + start + length)
      if (words.length < length) continue
      const name = words.map((word) => word.raw).join(' ')
      const followed = this.#word(start + length) === 'time'
      const sure = start === 1 || followed || name.includes('/') || /^(utc|gmt)$/i.test(name)
      if (!sure || name.length < 2) continue
      // Asking Temporal for a name that is none is dear; a sentence has one zone, so few asks are enough.
      const named = name.includes('/')
      if (named && (length > 1 || ++this.#zonesAsked > zonesAskedMax)) continue
      const id = named ? (knownZone(name)?.id ?? null) : zoneOfCity(name)
      if (id === null || this.#out.zone !== null) continue
      this.#out.zone = id
      return this.#skip(start + length + (followed ? 1 : 0))
    }
    return false
  }

  #readTimes(): boolean {
    const introduced = this.#word() === 'at'
    let at = this.#at + (introduced ? 1 : 0)
    const first = timeOfWords(this.#words, at)
    // A bare number is a time only after "at": "the 15" is not quarter past anything.
    if (first === null || !(introduced || first.time.explicit) || this.#out.times.length > 0) return false
    const from = this.#words[at]!.position
    this.#out.times.push(first.time)
    at += first.length
    while (this.#words[at]?.text === 'and') {
      const more = timeOfWords(this.#words, at + (this.#words[at + 1]?.text === 'at' ? 2 : 1))
      if (more === null) break
      this.#out.times.push(more.time)
      at += (this.#words[at + 1]?.text === 'at' ? 2 : 1) + more.length
    }
    const last = this.#words[at - 1]!
    this.#out.timesSpan = { from, to: last.position + last.raw.length }
    this.#at = at
    return true
  }

  /** Small words carry nothing by themselves; `month` only after `of the` or `every`. */
  #skipFiller(): boolean {
    const word = this.#word()
    if (fillers.has(word) && this.#at + 1 < this.#words.length) return this.#skip()
    const previous = this.#words[this.#at - 1]?.text
    const named = ['the', 'every', 'each', 'a', 'of'].includes(previous ?? '')
    return named && word === 'month' && this.#skip()
  }

  /** N: days of the month; W: days of the week. */
  #skipDays(kind: 'N' | 'W', words: number): boolean {
    if (this.#kind !== null && this.#kind !== kind && !this.#followsAnd()) this.#out.dayOfBoth = true
    this.#kind = kind
    this.#order += this.#order.endsWith('D') ? '' : 'D'
    return this.#skip(words)
  }

  #followsAnd(): boolean {
    let at = this.#at - 1
    while (at > 0 && this.#words[at]!.text !== 'and' && fillers.has(this.#words[at]!.text)) at--
    return this.#words[at]?.text === 'and'
  }

  #skip(words = 1): boolean {
    this.#at += words
    return true
  }
}
