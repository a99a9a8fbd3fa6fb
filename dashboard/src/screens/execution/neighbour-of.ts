// Which execution is the one beside another: by when they were due, and of the same slot by when they were made.

export interface Placed {
  execution_id: string
  scheduled_time: string
}

export function nearest(items: readonly Placed[], here: Placed, side: 'older' | 'newer'): string | null {
  const sign = side === 'older' ? -1 : 1
  const beside = items.filter((one) => compare(one, here) * sign > 0).toSorted((a, b) => compare(a, b) * sign)
  return beside[0]?.execution_id ?? null
}

function compare(a: Placed, b: Placed): number {
  const byTime = Date.parse(a.scheduled_time) - Date.parse(b.scheduled_time)
  if (byTime !== 0) return byTime
  return a.execution_id < b.execution_id ? -1 : Number(a.execution_id > b.execution_id)
}
