// How far each of our partitions is loaded into the due queue. Cursors that are due beyond that are only rows.
//
// States of a partition: unloaded (just taken, or after `reload`) -> loading (`begin`) -> loaded up to `until` (`end`).
// A load that did not read all rows covers up to its last one, and the next load continues after it; a load that fails
// ends with `reload`.
//
// Invariants: a cursor that is due by `until` is in the due queue or in a load under way, so a job that fires meanwhile is
// put back and not lost; the end of a load that began before a reload, or before the partition left and came back, changes
// nothing; rows are read in the order of (due time, job), each once.
import type { EpochMs } from '../lib/time/epoch.ts'
import type { LoadRequest } from '../ports/slots.ts'

interface Loaded {
  /** The last row that was loaded; null: nothing yet. */
  after: { dueAt: EpochMs; jobId: string } | null
  /** Everything due before this is in the due queue, or is being loaded into it. */
  until: EpochMs
  /** Whether a load that began since the last `reload`, and since the partition was taken, is under way. */
  loading: boolean
  /** Since when rows are wanted that are not loaded; null: all wanted rows are loaded. */
  wantedSince: EpochMs | null
}

const nothing = Number.NEGATIVE_INFINITY as EpochMs

const unloaded = (): Loaded => ({ after: null, until: nothing, loading: false, wantedSince: null })

export class LoadWindow {
  readonly #partitions = new Map<number, Loaded>()

  get partitionIds(): number[] {
    return [...this.#partitions.keys()]
  }

  has(partitionId: number): boolean {
    return this.#partitions.has(partitionId)
  }

  /** Holds exactly these partitions from now on; new ones are loaded from the beginning. */
  hold(partitionIds: readonly number[]): void {
    for (const id of this.#partitions.keys()) if (!partitionIds.includes(id)) this.#partitions.delete(id)
    for (const id of partitionIds) {
      if (!this.#partitions.has(id)) this.#partitions.set(id, unloaded())
    }
  }

  /** Loads every partition again from the beginning, after a change may have been missed. */
  reload(): void {
    for (const id of this.#partitions.keys()) this.#partitions.set(id, unloaded())
  }

  /** Whether a job of this partition that is due at `dueAt` belongs into the due queue. */
  covers(partitionId: number, dueAt: EpochMs): boolean {
    const loaded = this.#partitions.get(partitionId)
    return loaded !== undefined && dueAt <= loaded.until
  }

  /**
   * From `now` on all rows up to `wantedUntil` are wanted. A job that is loaded later than that, because there are so many,
   * was not delayed by an outage.
   */
  want(wantedUntil: EpochMs, now: EpochMs): void {
    for (const loaded of this.#partitions.values()) if (loaded.until < wantedUntil) loaded.wantedSince ??= now
  }

  /** Since when a load of the partition is under way, counted over all its pieces; null: none is. */
  wantedSince(partitionId: number): EpochMs | null {
    return this.#partitions.get(partitionId)?.wantedSince ?? null
  }

  /** Begins the loads that cover everything up to `dueBefore`. From now on that counts as covered: see `fireDue`. */
  begin(wantedUntil: EpochMs, dueBefore: EpochMs): LoadRequest['partitions'] {
    const asked: { partitionId: number; after: Loaded['after'] }[] = []
    for (const [partitionId, loaded] of this.#partitions) {
      if (loaded.until >= wantedUntil) continue
      asked.push({ partitionId, after: loaded.after })
      loaded.until = dueBefore
      loaded.loading = true
    }
    return asked
  }

  /** Ends the load of a partition at its last row; `whole`: there is no further row before `dueBefore`. */
  end(partitionId: number, last: { dueAt: EpochMs; jobId: string } | null, whole: boolean): void {
    const loaded = this.#partitions.get(partitionId)
    if (loaded === undefined || !loaded.loading) return
    loaded.loading = false
    if (last !== null) loaded.after = last
    if (whole) loaded.wantedSince = null
    else if (last !== null) loaded.until = last.dueAt
  }
}
