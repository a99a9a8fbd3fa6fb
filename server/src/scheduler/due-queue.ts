// What comes due, in memory, by time: one bucket for each due instant, and a heap of the instants. Jobs are mostly
// due at whole seconds, so there are few buckets however many jobs there are. A job is in it at most once. What is due waits
// by tenant, and tenants take turns: a herd of one does not hold up the jobs of another. Buckets are by tenant too, so that a
// herd comes due without a look at each of its jobs.
import type { EpochMs } from '../lib/time/epoch.ts'
import type { Entry } from './entry.ts'

/** What is due of a tenant, the first to come first. */
interface Queue {
  entries: Entry[]
  /** Those before have been taken. */
  next: number
}

/** Who has no more than this due has little: its jobs need not wait for a fire of a herd's. */
const smallTenantMax = 50

/** What is due at one instant. Mostly of one tenant: with jitter nearly every job has an instant of its own. */
interface Bucket {
  tenantId: string
  entries: Entry[]
  others: Map<string, Entry[]> | null
}

export class DueQueue {
  readonly #byJob = new Map<string, Entry>()
  readonly #buckets = new Map<number, Bucket>()
  /** A binary heap of the keys of `#buckets`. */
  readonly #heap: number[] = []
  /** By tenant. Whoever had its turn goes to the end. */
  readonly #due = new Map<string, Queue>()
  #tookSmallTenants = false

  get size(): number {
    return this.#byJob.size
  }

  /** Jobs that are due and were not taken yet, some of them perhaps replaced; none before `takeDue` has looked. */
  get waiting(): number {
    let waiting = 0
    for (const { entries, next } of this.#due.values()) waiting += entries.length - next
    return waiting
  }

  /** Whether the last ones taken were of tenants that have little due, while others have more. */
  get tookSmallTenants(): boolean {
    return this.#tookSmallTenants
  }

  has(jobId: string): boolean {
    return this.#byJob.has(jobId)
  }

  get(jobId: string): Entry | undefined {
    return this.#byJob.get(jobId)
  }

  /** Replaces what the due queue had for the job, unless that is of a later version. */
  put(entry: Entry): void {
    const known = this.#byJob.get(entry.jobId)
    if (known !== undefined && known.version > entry.version) return
    this.#byJob.set(entry.jobId, entry)
    const bucket = this.#buckets.get(entry.dueAt)
    if (bucket !== undefined) {
      addTo(bucket, entry)
      return
    }
    this.#buckets.set(entry.dueAt, { tenantId: entry.tenantId, entries: [entry], others: null })
    this.#push(entry.dueAt)
  }

  /** Puts back what was taken out, unless the job came anew meanwhile: that entry knows more, if its version is no older. */
  putBack(entry: Entry): void {
    const known = this.#byJob.get(entry.jobId)
    if (known === undefined || known.version < entry.version) this.put(entry)
  }

  /**
   * Takes out at most `limit` jobs that are due: of each tenant as many, while it has them. When more are due than that, then
   * every other time only of tenants that have little due: what fires alone fires sooner.
   */
  takeDue(now: EpochMs, limit: number): Entry[] {
    this.#queueDue(now)
    this.#tookSmallTenants = !this.#tookSmallTenants && this.waiting > limit
    if (this.#tookSmallTenants) {
      const few = this.#takeInTurns(
        now,
        limit,
        (queue) => queue.entries.length - queue.next <= smallTenantMax,
      )
      if (few.length > 0) return few
      this.#tookSmallTenants = false
    }
    return this.#takeInTurns(now, limit, () => true)
  }

  #takeInTurns(now: EpochMs, limit: number, isMeant: (queue: Queue) => boolean): Entry[] {
    const taken: Entry[] = []
    let before = -1
    while (taken.length < limit && taken.length > before) {
      before = taken.length
      const meant = [...this.#due].filter(([, queue]) => isMeant(queue))
      const share = Math.max(1, Math.floor((limit - taken.length) / meant.length))
      for (const [tenantId, queue] of meant.slice(0, limit - taken.length)) {
        this.#due.delete(tenantId)
        this.#take(queue, { now, share, taken })
        if (queue.next < queue.entries.length) this.#due.set(tenantId, queue)
      }
    }
    return taken
  }

  /** When the next one is due; it may be one that was replaced. Null: nothing is there. */
  nextDueAt(): EpochMs | null {
    let first = this.#heap[0] ?? Number.POSITIVE_INFINITY
    for (const { entries, next } of this.#due.values()) first = Math.min(first, entries[next]!.dueAt)
    return first === Number.POSITIVE_INFINITY ? null : (first as EpochMs)
  }

  #queueDue(now: EpochMs): void {
    while (this.#heap.length > 0 && this.#heap[0]! <= now) {
      const dueAt = this.#heap[0]!
      const { tenantId, entries, others } = this.#buckets.get(dueAt)!
      this.#queue(tenantId, entries)
      for (const [other, theirs] of others ?? []) this.#queue(other, theirs)
      this.#buckets.delete(dueAt)
      this.#pop()
    }
  }

  #queue(tenantId: string, entries: Entry[]): void {
    const queue = this.#due.get(tenantId)
    if (queue === undefined) this.#due.set(tenantId, { entries, next: 0 })
    else for (const entry of entries) insert(queue, entry)
  }

  #take(queue: Queue, { now, share, taken }: { now: EpochMs; share: number; taken: Entry[] }): void {
    for (let left = share; left > 0 && queue.next < queue.entries.length; queue.next++) {
      const entry = queue.entries[queue.next]!
      // One that was replaced since is still where it was; the map knows which one counts.
      if (this.#byJob.get(entry.jobId) !== entry) continue
      // A clock that was set back.
      if (entry.dueAt > now) return
      this.#byJob.delete(entry.jobId)
      taken.push(entry)
      left -= 1
    }
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

function addTo(bucket: Bucket, entry: Entry): void {
  const { tenantId } = entry
  if (tenantId === bucket.tenantId) {
    bucket.entries.push(entry)
    return
  }
  bucket.others ??= new Map()
  const entries = bucket.others.get(tenantId)
  if (entries === undefined) bucket.others.set(tenantId, [entry])
  else entries.push(entry)
}

function insert({ entries, next }: Queue, entry: Entry): void {
  let at = entries.length
  // One that comes again after a fire that failed is due before those that wait; all others are not.
  if (at > next && entries[at - 1]!.dueAt > entry.dueAt) {
    let from = next
    while (from < at) {
      const middle = (from + at) >> 1
      if (entries[middle]!.dueAt <= entry.dueAt) from = middle + 1
      else at = middle
    }
    entries.splice(at, 0, entry)
  } else entries.push(entry)
}
