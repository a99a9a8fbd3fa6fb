// Tables: aligned columns on a terminal, cut to its width; tab-separated and whole where a program reads.
import { clean, cut, pad, widthOf } from './text.ts'
import type { Tone } from './tone.ts'

export interface Column {
  title: string
  align?: 'right'
  /** Cut first when the terminal is narrow. */
  flexible?: boolean
  /** Left out when there is no room for it. */
  spare?: boolean
  /** On a terminal only with `--wide`; programs get it always. */
  wideOnly?: boolean
}

/** A column with the cell that it has for an item. */
export interface ColumnOf<Item> extends Column {
  cell: (item: Item, nowMs: number) => Cell
}

/** `exact` is the form for `--wide` and programs, where it differs: an instant instead of "2m ago". */
export type Cell = string | { text: string; exact?: string; tone?: Tone }

export interface Look {
  terminal: boolean
  width: number
  wide: boolean
  paint: (text: string, tone: Tone | undefined) => string
}

const gap = '  '
const flexibleWidthMin = 8
/** Before a flexible column gets narrower than this, spare ones go. */
const flexibleWidthGood = 20

export function writeTable(
  columns: readonly Column[],
  rows: readonly (readonly Cell[])[],
  look: Look,
): string {
  if (!look.terminal) return writeTabs(rows)
  const natural = columns.map((column, i) =>
    Math.max(widthOf(column.title), ...rows.map((row) => widthOf(toCell(row[i] ?? '', look.wide).text))),
  )
  const shown = chooseColumns(columns, natural, look)
  const cells = rows.map((row) => shown.map((i) => toCell(row[i] ?? '', look.wide)))
  const widths = shown.map((i) => natural[i]!)
  if (!look.wide) narrow(widths, shown, columns, look.width)
  const line = (texts: { text: string; tone?: Tone | undefined }[]) =>
    texts
      .map(({ text, tone }, i) => {
        const align = columns[shown[i]!]!.align ?? 'left'
        const fitted = cut(text, widths[i]!)
        const isLast = i === texts.length - 1 && align === 'left'
        // Painted after it was measured: colours have no width.
        return look.paint(isLast ? fitted : pad(fitted, widths[i]!, align), tone)
      })
      .join(gap)
      .trimEnd()
  const head = line(shown.map((i) => ({ text: columns[i]!.title, tone: 'bold' })))
  return [head, ...cells.map(line)].map((one) => `${one}\n`).join('')
}

/** All columns except the ones for `--wide`, and without the last spare ones while the others are short of room. */
function chooseColumns(columns: readonly Column[], natural: readonly number[], look: Look): number[] {
  const all = columns.map((_, i) => i)
  if (look.wide) return all
  let shown = all.filter((i) => columns[i]!.wideOnly !== true)
  const needed = (i: number) =>
    columns[i]!.flexible === true ? Math.min(natural[i]!, flexibleWidthGood) : natural[i]!
  const total = () => shown.reduce((sum, i) => sum + needed(i) + gap.length, -gap.length)
  while (total() > look.width) {
    const spare = shown.findLast((i) => columns[i]!.spare === true)
    if (spare === undefined) break
    shown = shown.filter((i) => i !== spare)
  }
  return shown
}

function toCell(cell: Cell, wide: boolean): { text: string; tone?: Tone | undefined } {
  if (typeof cell === 'string') return { text: clean(cell) }
  return { text: clean(wide ? (cell.exact ?? cell.text) : cell.text), tone: cell.tone }
}

/** Takes from the widest flexible column until all fit. */
function narrow(widths: number[], shown: readonly number[], columns: readonly Column[], width: number): void {
  const excess = () => widths.reduce((sum, one) => sum + one, 0) + gap.length * (widths.length - 1) - width
  for (let left = excess(); left > 0; left = excess()) {
    const flexible = shown.map((_, i) => i).filter((i) => columns[shown[i]!]!.flexible === true)
    const widest = flexible.toSorted((a, b) => widths[b]! - widths[a]!)[0]
    if (widest === undefined || widths[widest]! <= flexibleWidthMin) return
    const second = Math.max(0, ...flexible.filter((i) => i !== widest).map((i) => widths[i]!))
    const step = Math.max(1, Math.min(left, widths[widest]! - second))
    widths[widest] = Math.max(flexibleWidthMin, widths[widest]! - step)
  }
}

// No head: `cut -f1` and `while read` get data only. docs/cli.md lists the columns.
function writeTabs(rows: readonly (readonly Cell[])[]): string {
  return rows.map((row) => `${row.map((cell) => toCell(cell, true).text).join('\t')}\n`).join('')
}
