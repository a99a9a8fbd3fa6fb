// Where a command writes: data on stdout, talk on stderr; JSON when it was asked for.
import { describeFailure, writeFailure } from './exit-code.ts'
import type { Io } from './io.ts'
import { type Cell, type ColumnOf, type Look, writeTable } from './table.ts'
import { clean, cleanLines, pad } from './text.ts'
import { type Paint, paintFor, type Tone } from './tone.ts'

const widthDefault = 80
const widthMin = 40

export class Output {
  readonly json: boolean
  readonly paint: Paint
  readonly paintTalk: Paint
  readonly #io: Io
  readonly #wide: boolean

  constructor(io: Io, { json, wide }: { json: boolean; wide: boolean }) {
    this.#io = io
    this.json = json
    this.#wide = wide
    this.paint = paintFor(io.stdout, io.env)
    this.paintTalk = paintFor(io.stderr, io.env)
  }

  /** Somebody looks at stdout. */
  get terminal(): boolean {
    return this.#io.stdout.isTTY === true
  }

  /** Somebody looks at stderr: hints are for them. */
  get talks(): boolean {
    return this.#io.stderr.isTTY === true
  }

  get look(): Look {
    return {
      terminal: this.terminal,
      width: Math.max(widthMin, this.#io.stdout.columns ?? widthDefault),
      wide: this.#wide,
      paint: this.paint,
    }
  }

  /** Data, as it is. */
  write(text: string): void {
    this.#io.stdout.write(text)
  }

  writeJson(value: unknown): void {
    this.write(`${JSON.stringify(value, null, 2)}\n`)
  }

  /** A line for people, which no program reads. */
  say(text: string, tone?: Tone): void {
    this.#io.stderr.write(`${this.paintTalk(cleanLines(text), tone)}\n`)
  }

  /** Reports a completed action: a line on stdout, or the document in JSON. */
  report(text: string, value: unknown): void {
    if (this.json) this.writeJson(value)
    else this.write(`${cleanLines(text)}\n`)
  }

  fail(error: unknown): void {
    if (this.json) this.writeJson({ error: describeFailure(error) })
    else this.#io.stderr.write(`${this.paintTalk(cleanLines(writeFailure(error)), undefined)}\n`)
  }

  table<Item>(columns: readonly ColumnOf<Item>[], items: readonly Item[], nowMs: number): string {
    const rows = items.map((item) => columns.map(({ cell }) => cell(item, nowMs)))
    return writeTable(columns, rows, this.look)
  }

  /** Names and values below each other; null values are left out. */
  fields(pairs: readonly (readonly [string, Cell | null])[]): string {
    const given = pairs.filter((pair): pair is readonly [string, Cell] => pair[1] !== null && pair[1] !== '')
    const width = Math.max(0, ...given.map(([name]) => name.length))
    return given
      .map(([name, cell]) => {
        if (!this.terminal) return `${name}\t${clean(exactOf(cell))}\n`
        const text = typeof cell === 'string' ? cell : this.#wide ? exactOf(cell) : cell.text
        const tone = typeof cell === 'string' ? undefined : cell.tone
        const [first = '', ...more] = cleanLines(text).split('\n')
        const lines = [first, ...more.map((line) => ' '.repeat(width + 2) + line)]
        return `${this.paint(pad(name, width), 'dim')}  ${this.paint(lines.join('\n'), tone)}\n`
      })
      .join('')
  }
}

function exactOf(cell: Cell): string {
  return typeof cell === 'string' ? cell : (cell.exact ?? cell.text)
}
