// Reads the terms of cron fields, one character at a time: no recursion, no backtracking, no regular expression
// over user text, at most 64 terms a field. A class only because seven fields share a dozen counters, and an
// object of counters passed to every function reads worse.
import type { CronFields } from './cron.ts'
import {
  CRON_FIELDS,
  type CronField,
  DAY_OF_MONTH,
  DAY_OF_WEEK,
  HOUR,
  MINUTE,
  MONTH,
  SECOND,
  valueOfName,
  YEAR,
} from './cron-field.ts'
import { hash32 } from './hash.ts'
import { type Result, refuse, type ScheduleErrorCode } from './schedule-error.ts'

const termsMax = 64

export class CronReader {
  readonly #text: string
  readonly #jobId: string
  #at = 0
  #end = 0
  #index = 0
  #field: CronField = CRON_FIELDS[0]!
  #terms = 0
  #low = 0
  #high = 0
  #star = false
  #wild = false
  #years: Uint8Array | null = null
  #hashed: { from: number; to: number; text: string }[] | null = null
  #failure: Result<never> | null = null
  readonly #out: CronFields = {
    secondLow: 1,
    secondHigh: 0,
    minuteLow: 0,
    minuteHigh: 0,
    hours: 0,
    months: 0,
    days: 0,
    weekdays: 0,
    lastDays: 0,
    nearestWeekdays: 0,
    lastNearestWeekdays: 0,
    nthWeekdays: 0,
    endWeekdays: 0,
    dayStar: false,
    weekdayStar: false,
    bothDays: false,
    wildTime: false,
    years: null,
    hashedText: null,
  }

  constructor(text: string, jobId: string) {
    this.#text = text
    this.#jobId = jobId
  }

  read(bounds: number[], count: number): Result<CronFields> {
    for (let i = 0; i < count; i++) {
      this.#at = bounds[2 * i]!
      this.#end = bounds[2 * i + 1]!
      this.#readField(count === 5 ? i + 1 : i)
      if (this.#failure !== null) return this.#failure
    }
    this.#out.hashedText = this.#replaceHashes()
    return { ok: true, value: this.#out }
  }

  #readField(index: number) {
    this.#index = index
    this.#field = CRON_FIELDS[index]!
    this.#low = this.#high = this.#terms = 0
    this.#star = this.#wild = false
    if (index === YEAR) this.#years = new Uint8Array(this.#field.size)
    if (index === DAY_OF_WEEK && this.#text.charCodeAt(this.#at) === 43) {
      this.#out.bothDays = true
      this.#at++
    }
    for (;;) {
      if (++this.#terms > termsMax) {
        return this.#fail('TOO_MANY_TERMS', `The ${this.#field.name} has more than ${termsMax} terms.`)
      }
      this.#readTerm()
      if (this.#failure !== null) return
      if (this.#at >= this.#end) break
      if (this.#text.charCodeAt(this.#at) !== 44) {
        return this.#fail('BAD_CHARACTER', `"${this.#text[this.#at]}" is not expected here.`)
      }
      this.#at++
    }
    this.#store(index)
  }

  #store(index: number) {
    const out = this.#out
    const low = this.#low
    const high = this.#high
    if (index === SECOND) {
      out.secondLow = low
      out.secondHigh = high
      out.wildTime = this.#wild
    } else if (index === MINUTE) {
      out.minuteLow = low
      out.minuteHigh = high
      out.wildTime ||= this.#wild
    } else if (index === HOUR) out.hours = low
    else if (index === DAY_OF_MONTH) {
      out.days = (low >>> 1) | (high << 29)
      out.dayStar = this.#star
    } else if (index === MONTH) out.months = low
    else if (index === DAY_OF_WEEK) {
      out.weekdays = low
      out.weekdayStar = this.#star
    } else out.years = this.#star ? null : this.#years
  }

  #readTerm() {
    const code = this.#at < this.#end ? this.#text.charCodeAt(this.#at) : 0
    const index = this.#index
    const field = this.#field
    if (code === 42) {
      this.#at++
      const step = this.#readStep()
      if (step <= 1) this.#star = true
      this.#wild = true
      this.#add(field.min, field.max, step === 0 ? 1 : step)
    } else if (code === 63) {
      if (index !== DAY_OF_MONTH && index !== DAY_OF_WEEK) {
        return this.#fail(
          'NOT_ALLOWED_HERE',
          `"?" is only allowed in the two day fields, not in ${field.name}.`,
        )
      }
      this.#at++
      this.#star = true
      this.#add(field.min, field.max, 1)
    } else if ((code | 32) === 104) this.#readHash()
    else if ((code | 32) === 108) this.#readLast()
    else this.#readRange()
  }

  #readRange() {
    const index = this.#index
    const field = this.#field
    const first = this.#readValue()
    if (this.#failure !== null) return
    const code = this.#at < this.#end ? this.#text.charCodeAt(this.#at) : 0
    if (code === 45) {
      this.#at++
      const from = this.#at
      const last = this.#readValue()
      if (this.#failure !== null) return
      if (index === YEAR && last < first) {
        return this.#fail('OUT_OF_RANGE', 'A range of years cannot run backwards.', from)
      }
      // A Sunday that begins a range begins the week; one that ends it is reached by running over the end.
      const start = index === DAY_OF_WEEK && first === 7 ? (last === 7 ? 7 : 0) : first
      const step = this.#readStep()
      this.#add(start, last, step === 0 ? 1 : step)
    } else if (code === 47) {
      const step = this.#readStep()
      this.#wild = true
      this.#add(first, field.max, step)
    } else if (index === DAY_OF_MONTH && (code | 32) === 119) {
      this.#at++
      this.#out.nearestWeekdays |= 1 << (first - 1)
    } else if (index === DAY_OF_WEEK && (code | 32) === 108) {
      this.#at++
      this.#out.endWeekdays |= 1 << (7 + (first % 7))
    } else if (index === DAY_OF_WEEK && code === 35) this.#readNth(first % 7)
    else this.#add(first, first, 1)
  }

  #readNth(weekday: number) {
    this.#at++
    const code = this.#at < this.#end ? this.#text.charCodeAt(this.#at) : 0
    if ((code | 32) === 108) this.#out.endWeekdays |= 1 << (7 + weekday)
    else if (code === 53) this.#out.endWeekdays |= 1 << weekday
    else if (code >= 49 && code <= 52) this.#out.nthWeekdays |= 1 << ((code - 49) * 7 + weekday)
    else return this.#fail('OUT_OF_RANGE', 'After "#" comes 1 to 5 or L.', this.#at, '#1 to #5, #L')
    this.#at++
  }

  #readLast() {
    if (this.#index === DAY_OF_WEEK) {
      const message = '"L" alone is not a weekday: write FRIL for the last Friday, or L in the day of month.'
      return this.#fail('NOT_ALLOWED_HERE', message)
    }
    if (this.#index !== DAY_OF_MONTH) {
      return this.#fail('NOT_ALLOWED_HERE', `"L" is not allowed in the ${this.#field.name}.`)
    }
    this.#at++
    let offset = 0
    if (this.#text.charCodeAt(this.#at) === 45 && this.#at < this.#end) {
      this.#at++
      const from = this.#at
      offset = this.#readNumber()
      if (this.#failure !== null) return
      if (offset < 1 || offset > 30) {
        return this.#fail('OUT_OF_RANGE', 'After "L-" comes 1 to 30.', from, 'L-1 to L-30')
      }
    }
    if (this.#at < this.#end && (this.#text.charCodeAt(this.#at) | 32) === 119) {
      this.#at++
      this.#out.lastNearestWeekdays |= 1 << offset
    } else this.#out.lastDays |= 1 << offset
  }

  #readHash() {
    const from = this.#at
    const field = this.#field
    const index = this.#index
    if (index === YEAR) return this.#fail('NOT_ALLOWED_HERE', '"H" is not allowed in the year.')
    this.#at++
    let first = field.min
    // A hashed day of the month must exist in February too.
    let last = index === DAY_OF_MONTH ? 28 : index === DAY_OF_WEEK ? 6 : field.max
    const bounded = this.#at < this.#end && this.#text.charCodeAt(this.#at) === 40
    if (bounded) {
      this.#at++
      first = this.#readValue()
      if (this.#failure !== null) return
      if (this.#text.charCodeAt(this.#at) !== 45) return this.#fail('BAD_VALUE', 'H takes a range: H(0-29).')
      this.#at++
      last = this.#readValue()
      if (this.#failure !== null) return
      if (this.#text.charCodeAt(this.#at) !== 41) return this.#fail('BAD_VALUE', 'H(a-b) lacks its ")".')
      if (last < first) return this.#fail('OUT_OF_RANGE', 'The range of H cannot run backwards.')
      this.#at++
    }
    const step = this.#readStep()
    if (this.#failure !== null) return
    const hash = hash32(this.#jobId, index, this.#terms)
    const size = last - first + 1
    const value = first + (hash % (step === 0 ? size : Math.min(step, size)))
    if (step === 0) this.#add(value, value, 1)
    else this.#add(value, bounded ? last : field.max, step)
    this.#wild ||= step > 0 && !bounded
    const text = step === 0 ? `${value}` : bounded ? `${value}-${last}/${step}` : `${value}/${step}`
    this.#hashed ??= []
    this.#hashed.push({ from, to: this.#at, text })
  }

  /** 0 when there is no step. */
  #readStep(): number {
    if (this.#at >= this.#end || this.#text.charCodeAt(this.#at) !== 47) return 0
    this.#at++
    const from = this.#at
    const step = this.#readNumber()
    if (this.#failure !== null) return 1
    const { name, size } = this.#field
    if (step < 1 || step > size) {
      this.#fail('BAD_STEP', `A step of the ${name} is 1 to ${size}.`, from, `1 to ${size}`)
      return 1
    }
    return step
  }

  #readValue(): number {
    const from = this.#at
    const code = from < this.#end ? this.#text.charCodeAt(from) : 0
    const { name, min, max } = this.#field
    if (code < 48 || code > 57) return this.#readName(from)
    const value = this.#readNumber()
    if (this.#failure === null && (value < min || value > max)) {
      const hint = this.#index === HOUR && value === 24 ? ' Midnight is hour 0.' : ''
      this.#fail('OUT_OF_RANGE', `${value} is out of range: the ${name} is ${min} to ${max}.${hint}`, from)
    }
    return value
  }

  #readName(from: number): number {
    const index = this.#index
    let to = from
    while (to < this.#end && ((this.#text.charCodeAt(to) | 32) - 97) >>> 0 < 26) to++
    if (to === from) {
      const what = from >= this.#end ? 'A value is missing' : `"${this.#text[from]}" is not a value`
      this.#fail('BAD_VALUE', `${what} in the ${this.#field.name}.`)
      return 0
    }
    const word = this.#text.slice(from, to)
    const value = valueOfName(index, word.slice(0, 3).toUpperCase())
    const longest = index === DAY_OF_WEEK && /^...l$/i.test(word) ? 4 : 3
    if (value < 0 || word.length < 3 || word.length > longest) {
      const hint = value >= 0 && word.length > 3 ? ` Names have three letters: ${word.slice(0, 3)}.` : ''
      this.#fail('BAD_VALUE', `"${word.slice(0, 32)}" is not a ${this.#field.name}.${hint}`)
      return 0
    }
    this.#at = from + 3
    return value
  }

  #readNumber(): number {
    const from = this.#at
    let value = 0
    while (this.#at < this.#end) {
      const digit = this.#text.charCodeAt(this.#at) - 48
      if (digit < 0 || digit > 9) break
      value = value * 10 + digit
      if (++this.#at - from > this.#field.digitsMax) {
        this.#fail('OUT_OF_RANGE', `A number of the ${this.#field.name} has too many digits.`, from)
        return 0
      }
    }
    if (this.#at === from) this.#fail('BAD_VALUE', `A number is missing in the ${this.#field.name}.`, from)
    return value
  }

  /** Adds first to last by step; a range with an end before its start runs over the end of the field. */
  #add(first: number, last: number, step: number) {
    const { min, size } = this.#field
    const stop = last < first ? last + size : last
    for (let value = first; value <= stop; value += step) {
      const wrapped = value - min >= size ? value - size : value
      if (this.#years !== null) this.#years[wrapped - min] = 1
      else if (wrapped < 30) this.#low |= 1 << wrapped
      else this.#high |= 1 << (wrapped - 30)
    }
  }

  #fail(code: ScheduleErrorCode, message: string, position = this.#at, allowed = this.#field.allowed) {
    this.#failure ??= refuse(code, message, { field: this.#field.name, position, allowed })
  }

  #replaceHashes(): string | null {
    if (this.#hashed === null) return null
    let text = ''
    let at = 0
    for (const { from, to, text: value } of this.#hashed) {
      text += this.#text.slice(at, from) + value
      at = to
    }
    return text + this.#text.slice(at)
  }
}
