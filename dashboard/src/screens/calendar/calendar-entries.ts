// The days of a calendar as lines of text, and back.

export interface Entry {
  date?: string
  from?: string
  to?: string
}

const entriesMax = 500

/** One a line: a day, or `A to B`. */
export function entriesOf(text: string): { entries: Entry[]; error: string | null } {
  const entries: Entry[] = []
  for (const line of text.split('\n').map((one) => one.trim())) {
    if (line === '') continue
    const range = /^(\S+)\s+to\s+(\S+)$/.exec(line)
    if (range !== null) entries.push({ from: range[1]!, to: range[2]! })
    else if (/^\d{4}-\d\d-\d\d$/.test(line)) entries.push({ date: line })
    else return { entries, error: `"${line}" is not a day such as 2026-12-25, nor "A to B".` }
  }
  if (entries.length > entriesMax) return { entries, error: `At most ${entriesMax} entries.` }
  return { entries, error: null }
}

export function linesOf(entries: readonly Entry[]): string {
  return entries.map((entry) => entry.date ?? `${entry.from} to ${entry.to}`).join('\n')
}
