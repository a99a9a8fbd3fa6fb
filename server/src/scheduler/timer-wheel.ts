// What comes due, in memory, by time: one bucket for each due instant, and a heap of the instants. Jobs are mostly
// due at whole seconds, so there are few buckets however many jobs there are. A job is in it at most once.
import type { EpochMs } from '../lib/epoch.ts'
import type { Entry } from './entry.ts'

export class TimerWheel {
  readonly #byJob = new Map<string, Entry>()
  readonly #buckets = new Map<number, Entry[]>()
  /** A binary heap of the keys of `#buckets`. */
  readonly #heap: number[] = []

  get size(): number {
    return this.#byJob.size
  }

  has(jobId: string): boolean {
    return this.#byJob.has(jobId)
  }

  /** Replaces what the wheel had for the job, unless that is of a later version. */
  put(entry: Entry): void {
    const known = this.#byJob.get(entry.jobId)
    if (known !== undefined && known.version > entry.version) return
    this.#byJob.set(entry.jobId, entry)
    const bucket = this.#buckets.get(entry.dueAt)
    if (bucket !== undefined) {
      bucket.push(entry)
      return
    }
    this.#buckets.set(entry.dueAt, [entry])
    this.#push(entry.dueAt)
  }

  /** Puts back what was taken out, unless the job came anew meanwhile: that entry knows more, if its version is no older. */
  putBack(entry: Entry): void {
    const known = this.#byJob.get(entry.jobId)
    if (known === undefined || known.version < entry.version) this.put(entry)
  }

  /** Takes out at most `limit` jobs that are due. */
  takeDue(now: EpochMs, limit: number): Entry[] {
    const taken: Entry[] = []
    while (this.#heap.length > 0 && this.#heap[0]! <= now && taken.length < limit) {
      const dueAt = this.#heap[0]!
      const bucket = this.#buckets.get(dueAt)!
      while (bucket.length > 0 && taken.length < limit) {
        const entry = bucket.pop()!
        // One that was replaced since is still in its old bucket; the map knows which one counts.
        if (this.#byJob.get(entry.jobId) !== entry) continue
        this.#byJob.delete(entry.jobId)
        taken.push(entry)
      }
      if (bucket.length === 0) {
        this.#buckets.delete(dueAt)
        this.#pop()
      }
    }
    return taken
  }

  /** When the next one is due; it may be one that was replaced. Null: nothing is there. */
  nextDueAt(): EpochMs | null {
    return (this.#heap[0] as EpochMs | undefined) ?? null
  }

  /** Forgets the jobs of partitions that are no longer ours. */
  removePartitions(isOurs: (partitionId: number) => boolean): void {
    for (const [jobId, { partitionId }] of this.#byJob) if (!isOurs(partitionId)) this.#byJob.delete(jobId)
  }

  #push(dueAt: number): void {
    const heap = this.#heap
    let at = heap.length
    heap.push(dueAt)
    while (at > 0) {
      const parent = (at - 1) >> 1
      if (heap[parent]! <= dueAt) break
      heap[at] = heap[parent]!
      at = parent
    }
    heap[at] = dueAt
  }

  #pop(): void {
    const heap = this.#heap
    const last = heap.pop()!
    const { length } = heap
    if (length === 0) return
    let at = 0
    while (true) {
      let child = 2 * at + 1
      if (child >= length) break
      if (child + 1 < length && heap[child + 1]! < heap[child]!) child += 1
      if (heap[child]! >= last) break
      heap[at] = heap[child]!
      at = child
    }
    heap[at] = last
  }
}
