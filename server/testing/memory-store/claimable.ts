// The claimable work, in the order it is claimed in: batches and single executions by lane, and single executions that
// wait for a host. The counterpart of the partial indexes on `batches` and `live`.
import type { BatchRow, LiveRow } from './rows.ts'
import { type Compare, compareText, SortedSet } from './sorted-set.ts'

class LaneQueue {
  readonly batches = new SortedSet<BatchRow>(byBatchRank)
  readonly live = new SortedSet<LiveRow>(byRank)

  get size(): number {
    return this.batches.size + this.live.size
  }
}

export class Claimable {
  readonly #lanes = new Map<string, Map<string, LaneQueue>>()
  readonly #hosts = new Map<string, Map<string, SortedSet<LiveRow>>>()

  addBatch(batch: BatchRow): void {
    this.#openLane(batch).batches.add(batch)
  }

  deleteBatch(batch: BatchRow): void {
    this.#lanes.get(batch.route)?.get(batch.lane)?.batches.delete(batch)
    dropIfEmpty(this.#lanes.get(batch.route), batch.lane)
  }

  addLive(row: LiveRow): void {
    if (row.host === null) this.#openLane(row).live.add(row)
    else open(open(this.#hosts, row.route, newMap<SortedSet<LiveRow>>), row.host, newRanked).add(row)
  }

  deleteLive(row: LiveRow): void {
    if (row.host === null) {
      this.#lanes.get(row.route)?.get(row.lane)?.live.delete(row)
      dropIfEmpty(this.#lanes.get(row.route), row.lane)
    } else {
      this.#hosts.get(row.route)?.get(row.host)?.delete(row)
      dropIfEmpty(this.#hosts.get(row.route), row.host)
    }
  }

  /** The first batches of a lane, whichever of the routes they are on. */
  batchesOf(routes: readonly string[], lane: string, limit: number): BatchRow[] {
    return firstOf(over(this.#lanes, routes, lane), ({ batches }) => batches, byBatchRank, limit)
  }

  /** The first single executions of a lane. */
  liveOf(routes: readonly string[], lane: string, limit: number): LiveRow[] {
    return firstOf(over(this.#lanes, routes, lane), ({ live }) => live, byRank, limit)
  }

  /** The first that wait for a host. */
  readyFor(routes: readonly string[], host: string, limit: number): LiveRow[] {
    return firstOf(over(this.#hosts, routes, host), (ready) => ready, byRank, limit)
  }

  lanes(routes: readonly string[]): string[] {
    return namesIn(this.#lanes, routes)
  }

  hosts(routes: readonly string[]): string[] {
    return namesIn(this.#hosts, routes)
  }

  /** The hosts by the tenants whose executions wait for them. */
  hostsByTenant(routes: readonly string[]): string[][] {
    const byTenant = new Map<string, string[]>()
    for (const host of this.hosts(routes)) {
      const rows = this.readyFor(routes, host, Number.POSITIVE_INFINITY)
      for (const tenantId of new Set(rows.map((row) => row.tenantId)))
        open(byTenant, tenantId, newNames).push(host)
    }
    return [...byTenant.values()]
  }

  /** Routes with this prefix that have something to claim, in order. */
  routesFrom(prefix: string): string[] {
    const filled = [...this.#lanes, ...this.#hosts].filter(([, names]) => names.size > 0)
    const routes = new Set(filled.map(([route]) => route))
    return [...routes].filter((route) => route.startsWith(prefix)).toSorted(compareText)
  }

  #openLane({ route, lane }: { route: string; lane: string }): LaneQueue {
    return open(open(this.#lanes, route, newMap<LaneQueue>), lane, () => new LaneQueue())
  }
}

export function byRank(a: LiveRow, b: LiveRow): number {
  return a.rank - b.rank || compareText(a.executionId, b.executionId)
}

function byBatchRank(a: BatchRow, b: BatchRow): number {
  return a.rank - b.rank || compareText(a.batchId, b.batchId)
}

function over<T>(
  by: ReadonlyMap<string, ReadonlyMap<string, T>>,
  routes: readonly string[],
  name: string,
): T[] {
  return [...new Set(routes)].flatMap((route) => by.get(route)?.get(name) ?? [])
}

/** Of several queues the first ones, as if they were one. */
function firstOf<Q, T>(
  queues: readonly Q[],
  of: (queue: Q) => SortedSet<T>,
  compare: Compare<T>,
  limit: number,
): T[] {
  const [queue, ...others] = queues
  if (queue === undefined) return []
  if (others.length === 0) return of(queue).take(limit)
  const all = queues.flatMap((one) => of(one).take(limit))
  return all.toSorted(compare).slice(0, limit)
}

function namesIn(by: ReadonlyMap<string, ReadonlyMap<string, unknown>>, routes: readonly string[]): string[] {
  const names = new Set(routes.flatMap((route) => [...(by.get(route)?.keys() ?? [])]))
  return [...names].toSorted(compareText)
}

const newRanked = () => new SortedSet<LiveRow>(byRank)
const newNames = (): string[] => []
const newMap = <T>() => new Map<string, T>()

function open<T>(map: Map<string, T>, key: string, make: () => T): T {
  let value = map.get(key)
  if (value === undefined) {
    value = make()
    map.set(key, value)
  }
  return value
}

function dropIfEmpty(map: Map<string, { size: number }> | undefined, key: string): void {
  if (map?.get(key)?.size === 0) map.delete(key)
}
