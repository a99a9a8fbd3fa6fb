// Generates texts that a regular expression accepts, for the simple ones found in schemas: literals, classes, groups,
// alternatives and counts. It may get unsupported syntax wrong, so the result is tried before it is used.
import type { Dice } from './dice.ts'

const repeatsMax = 4
const triesMax = 8

/** Null when no text was found. */
export function sampleText(pattern: string, dice: Dice): string | null {
  const expression = new RegExp(pattern, 'u')
  for (let tries = 0; tries < triesMax; tries++) {
    const reader = new Reader(pattern, dice)
    const text = reader.alternatives()
    if (expression.test(text)) return text
  }
  return null
}

class Reader {
  #at = 0
  readonly #pattern: string
  readonly #dice: Dice

  constructor(pattern: string, dice: Dice) {
    this.#pattern = pattern
    this.#dice = dice
  }

  alternatives(): string {
    const texts = [this.#sequence()]
    while (this.#peek() === '|') {
      this.#at += 1
      texts.push(this.#sequence())
    }
    return this.#dice.pick(texts)
  }

  #sequence(): string {
    let text = ''
    while (this.#at < this.#pattern.length && this.#peek() !== '|' && this.#peek() !== ')') {
      const from = this.#at
      let one = this.#atom()
      const count = this.#count()
      // Every repetition is read anew, so that each draws for itself.
      const behind = this.#at
      if (count === 0) one = ''
      for (let repeat = 1; repeat < count; repeat++) {
        this.#at = from
        one += this.#atom()
      }
      this.#at = behind
      text += one
    }
    return text
  }

  #atom(): string {
    const char = this.#take()
    if (char === '^' || char === '$') return ''
    if (char === '(') return this.#group()
    if (char === '[') return this.#class()
    if (char === '.') return this.#dice.pick(['a', 'Z', '7', '-', 'é'])
    if (char === '\\') return this.#escape(this.#take())
    return char
  }

  #group(): string {
    const look = /^\?(?:=|!|<=|<!)/.test(this.#pattern.slice(this.#at))
    this.#at += /^\?(?::|=|!|<=|<!|<\w+>)/.exec(this.#pattern.slice(this.#at))?.[0].length ?? 0
    const text = this.alternatives()
    this.#at += 1
    return look ? '' : text
  }

  #class(): string {
    const negated = this.#peek() === '^'
    if (negated) this.#at += 1
    const chars: string[] = []
    while (this.#peek() !== ']' && this.#at < this.#pattern.length) {
      const first = this.#take()
      const low = first === '\\' ? this.#escape(this.#take()) : first
      if (this.#peek() === '-' && this.#pattern[this.#at + 1] !== ']') {
        this.#at += 1
        const last = this.#take()
        const high = last === '\\' ? this.#escape(this.#take()) : last
        const [from, to] = [low.codePointAt(0)!, high.codePointAt(0)!]
        chars.push(String.fromCodePoint(this.#dice.between(from, Math.max(from, to))))
      } else chars.push(low)
    }
    this.#at += 1
    if (!negated) return this.#dice.pick(chars)
    return ['a', 'Q', '5', '_', '-', ' '].find((char) => !chars.includes(char)) ?? 'é'
  }

  #escape(char: string): string {
    if (char === 'd') return String(this.#dice.below(10))
    if (char === 'w') return this.#dice.pick(['a', 'Z', '0', '_'])
    if (char === 's') return ' '
    if (char === 'S') return 'x'
    if (char === 'x' || char === 'u') {
      const code = /^[0-9a-fA-F]{2,4}/.exec(this.#pattern.slice(this.#at, this.#at + (char === 'x' ? 2 : 4)))
      this.#at += code?.[0].length ?? 0
      return String.fromCharCode(Number.parseInt(code?.[0] ?? '61', 16))
    }
    return char
  }

  #count(): number {
    const rest = this.#pattern.slice(this.#at)
    const [all, , min = '1', comma, max] = /^(\{(\d+)(,)?(\d+)?\})\??/.exec(rest) ?? []
    if (all !== undefined) {
      this.#at += all.length
      const low = Number(min)
      const high = comma === undefined ? low : max === undefined ? low + repeatsMax : Number(max)
      return this.#dice.between(low, Math.min(high, low + 4 * repeatsMax))
    }
    const sign = /^[*+?]\??/.exec(rest)?.[0]
    if (sign === undefined) return 1
    this.#at += sign.length
    if (sign[0] === '?') return this.#dice.below(2)
    return this.#dice.between(sign[0] === '+' ? 1 : 0, repeatsMax)
  }

  #peek(): string {
    return this.#pattern[this.#at] ?? ''
  }

  #take(): string {
    return this.#pattern[this.#at++] ?? ''
  }
}
