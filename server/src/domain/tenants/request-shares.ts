// How the processes with the role api divide a tenant's limit on requests a second: by the requests that it sends to each.
// A process with few requests has room for all of them, up to a floor at least; the others share the rest in proportion. So
// the whole limit can be used by any way that the requests take, and no process is left without a share.

/** A process that reports its requests this often… */
export const reportRequestsEveryMs = 2_000
/** …and has been silent for so long gets no share. */
export const apiProcessTermMs = 3 * reportRequestsEveryMs + 1_000

/** All floors together. */
const floorsShare = 1 / 5

/** The part of an even share that a process may use before the others know of its requests. */
export function floorOf(limit: number, processes: number): number {
  return (limit * floorsShare) / processes
}

/**
 * The share of each process that has requests of the tenant, by their rates; the shares are `limit` together. At most its
 * requests where there are more than the limit allows.
 */
export function sharesOf(limit: number, rates: readonly number[]): number[] {
  const all = sumOf(rates)
  if (all <= limit) return rates.map((rate) => rate + (limit - all) / rates.length)
  const floor = floorOf(limit, rates.length)
  const floors = rates.map((rate) => Math.min(rate, floor))
  const rest = (limit - sumOf(floors)) / (all - sumOf(floors))
  return rates.map((rate, at) => floors[at]! + (rate - floors[at]!) * rest)
}

/**
 * The share of one process. `own`: its reported requests a second; null: it has not reported any yet. `others`: of the other
 * processes with requests of the tenant. `processes`: all that are up, this one included.
 */
export function ownShareOf(
  limit: number,
  { own, others, processes }: { own: number | null; others: readonly number[]; processes: number },
): number {
  // All may have their first request now: nobody knows of the others yet.
  if (own === null && others.length === 0) return limit / processes
  const floor = floorOf(limit, others.length + 1)
  return sharesOf(limit, [Math.max(own ?? 0, floor), ...others])[0]!
}

function sumOf(rates: readonly number[]): number {
  return rates.reduce((sum, rate) => sum + rate, 0)
}
