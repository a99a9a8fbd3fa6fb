// How far each of our partitions is loaded into the due queue. Cursors due beyond that are only rows.
import type { EpochMs } from '../lib/time/epoch.ts'
import type { LoadRequest } from '../ports/slots.ts'

interface Loaded {
  /** The last row that was loaded; null: nothing yet. */
  after: { dueAt: EpochMs; jobId: string } | null
  /** Everything due before this is in the due queue, or is being loaded into it. */
  until: EpochMs
  /** A load of it is under way. One that began before a reload, or before the partition left and came back, is not. */
  loading: boolean
  /** Since when something is wanted that is not loaded; null: everything is there. */
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

  /** Holds exactly these from now on; new ones are loaded from the beginning. */
  hold(partitionIds: readonly number[]): void {
    for (const id of this.#partitions.keys()) if (!partitionIds.includes(id)) this.#partitions.delete(id)
    for (const id of partitionIds) {
      if (!this.#partitions.has(id)) this.#partitions.set(id, unloaded())
    }
  }

  /** After something may have been missed: everything is loaded anew. */
  reload(): void {
    for (const id of this.#partitions.keys()) this.#partitions.set(id, unloaded())
  }

  /** Whether a job of this partition, due then, belongs into the due queue. */
  covers(partitionId: number, dueAt: EpochMs): boolean {
    const loaded = this.#partitions.get(partitionId)
    return loaded !== undefined && dueAt <= loaded.until
  }

  /**
   * From `now` on everything up to `wantedUntil` is to be there: what comes later than that, because there is so much of it,
   * is not late by a hold-up.
   */
  want(wantedUntil: EpochMs, now: EpochMs): void {
    for (const loaded of this.#partitions.values()) if (loaded.until < wantedUntil) loaded.wantedSince ??= now
  }

  /** Since when a load of the partition is under way, all its pieces together; null: none is. */
  wantedSince(partitionId: number): EpochMs | null {
    return this.#partitions.get(partitionId)?.wantedSince ?? null
  }

  /** What to load so that all is covered up to `dueBefore`. From now on it counts as covered: see `fireDue`. */
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

  /** Where the load of a partition ended; `whole`: there is nothing more before `dueBefore`. */
  end(partitionId: number, last: { dueAt: EpochMs; jobId: string } | null, whole: boolean): void {
    const loaded = this.#partitions.get(partitionId)
    if (loaded === undefined || !loaded.loading) return
    loaded.loading = false
    if (last !== null) loaded.after = last
    if (whole) loaded.wantedSince = null
    else if (last !== null) loaded.until = last.dueAt
  }
}
