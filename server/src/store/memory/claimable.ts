// What can be claimed, in the order it is claimed in: batches and single executions by lane, and single executions
// that wait for a host. The twin of the partial indexes on `batches` and `live`.
import type { BatchRow, LiveRow } from './rows.ts'
import { compareText, SortedSet } from './sorted-set.ts'

class LaneQueue {
  readonly batches = new SortedSet<BatchRow>((a, b) => a.rank - b.rank || compareText(a.batchId, b.batchId))
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
    const queue = this.lane(batch.route, batch.lane)
    queue?.batches.delete(batch)
    dropIfEmpty(this.#lanes.get(batch.route), batch.lane)
  }

  addLive(row: LiveRow): void {
    if (row.host === null) this.#openLane(row).live.add(row)
    else open(open(this.#hosts, row.route, newMap<SortedSet<LiveRow>>), row.host, newRanked).add(row)
  }

  deleteLive(row: LiveRow): void {
    if (row.host === null) {
      this.lane(row.route, row.lane)?.live.delete(row)
      dropIfEmpty(this.#lanes.get(row.route), row.lane)
    } else {
      this.host(row.route, row.host)?.delete(row)
      dropIfEmpty(this.#hosts.get(row.route), row.host)
    }
  }

  lane(route: string, lane: string): LaneQueue | undefined {
    return this.#lanes.get(route)?.get(lane)
  }

  host(route: string, host: string): SortedSet<LiveRow> | undefined {
    return this.#hosts.get(route)?.get(host)
  }

  lanes(route: string): string[] {
    return [...(this.#lanes.get(route)?.keys() ?? [])].toSorted(compareText)
  }

  hosts(route: string): string[] {
    return [...(this.#hosts.get(route)?.keys() ?? [])].toSorted(compareText)
  }

  #openLane({ route, lane }: { route: string; lane: string }): LaneQueue {
    return open(open(this.#lanes, route, newMap<LaneQueue>), lane, () => new LaneQueue())
  }
}

export function byRank(a: LiveRow, b: LiveRow): number {
  return a.rank - b.rank || compareText(a.executionId, b.executionId)
}

const newRanked = () => new SortedSet<LiveRow>(byRank)
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
