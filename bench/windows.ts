// Contestants are measured in turn, window after window, so that other load on the machine affects all of them alike.
// The result is the median, reported with the spread of the windows.

export interface Contestant {
  name: string
  /** One window: the figure it came to. */
  measure(): Promise<number>
}

export interface Spread {
  median: number
  min: number
  max: number
}

/** Fewer tell nothing about chance. */
export const windowsMin = 5

export async function interleave(
  contestants: readonly Contestant[],
  windows: number,
): Promise<Map<string, Spread>> {
  const measured = new Map(contestants.map(({ name }) => [name, [] as number[]]))
  for (let turn = 0; turn < windows; turn++) {
    // The order rotates, so that no contestant is always measured after the same one.
    const order = [
      ...contestants.slice(turn % contestants.length),
      ...contestants.slice(0, turn % contestants.length),
    ]
    for (const { name, measure } of order) measured.get(name)!.push(await measure())
  }
  return new Map([...measured].map(([name, values]) => [name, spreadOf(values)]))
}

export function spreadOf(values: readonly number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  const median = sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
  return { median, min: sorted[0]!, max: sorted.at(-1)! }
}

/** As people read it: `9,120 (8,900 to 9,400)`. */
export function describeSpread({ median, min, max }: Spread, digits = 0): string {
  const show = (value: number) => value.toLocaleString('en', { maximumFractionDigits: digits })
  return `${show(median)} (${show(min)} to ${show(max)})`
}
