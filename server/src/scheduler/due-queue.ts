// The jobs that come due, in memory, by time: one bucket for each due instant, and a heap of the instants. Jobs are
// mostly due at whole seconds, so there are few buckets however many jobs there are.
//
// States of an entry: pending (in the bucket of its due instant) -> due (in the queue of its tenant) -> handed out
// (`takeDue`) or removed. An entry that was replaced, or that belongs to a partition we no longer hold, stays where it
// is and is skipped when its turn comes: `#byJob` decides which entry of a job counts.
//
// Invariants: a job is handed out at most once for each `put`, and not before it is due; a later version is never
// replaced by an earlier one; the keys of `#buckets` are the instants in the heap; the queue of a tenant is ordered by
// due instant. Tenants take turns, so a herd of jobs from one tenant does not delay the jobs of another. Buckets are
// also divided by tenant, so that a herd comes due without visiting each of its jobs.
import type { EpochMs } from '../lib/time/epoch.ts'
import type { Entry } from './entry.ts'
import { InstantHeap } from './instant-heap.ts'

/** The due jobs of a tenant, in the order of their due instants. */
interface TenantQueue {
  entries: Entry[]
  /** The position of the first entry that was not handed out yet. */
  next: number
}

/** A tenant with no more than this due is a small one: its jobs need not wait for a herd's fire. */
const smallTenantMax = 50

/** The jobs due at the same instant, mostly of a single tenant: with jitter nearly every job has its own instant. */
interface Bucket {
  tenantId: string
  entries: Entry[]
  others: Map<string, Entry[]> | null
}

export class DueQueue {
  readonly #byJob = new Map<string, Entry>()
  readonly #buckets = new Map<number, Bucket>()
  /** The keys of `#buckets`. */
  readonly #instants = new InstantHeap()
  /** By tenant. A tenant that had its turn goes to the end. */
  readonly #due = new Map<string, TenantQueue>()
  #tookSmallTenants = false

  get size(): number {
    return this.#byJob.size
  }

  /** Due jobs that were not handed out yet, replaced ones included, as of the last `takeDue`. */
  get waiting(): number {
    let waiting = 0
    for (const { entries, next } of this.#due.values()) waiting += entries.length - next
    return waiting
  }

  /** Whether the last `takeDue` handed out jobs of small tenants only, while others have more due. */
  get tookSmallTenants(): boolean {
    return this.#tookSmallTenants
  }

  has(jobId: string): boolean {
    return this.#byJob.has(jobId)
  }

  get(jobId: string): Entry | undefined {
    return this.#byJob.get(jobId)
  }

  /** Replaces the entry of the job, unless that has a later version. */
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
    this.#instants.push(entry.dueAt)
  }

  /** Puts back an entry that was handed out, unless the job was put again meanwhile with the same version or a later one. */
  putBack(entry: Entry): void {
    const known = this.#byJob.get(entry.jobId)
    if (known === undefined || known.version < entry.version) this.put(entry)
  }

  /**
   * Hands out at most `limit` due jobs, the same number for each tenant as long as it has them. When more are due than that,
   * every other time only jobs of small tenants: a small fire is done sooner (noisy-neighbour isolation).
   */
  takeDue(now: EpochMs, limit: number): Entry[] {
    this.#queueDue(now)
    this.#tookSmallTenants = !this.#tookSmallTenants && this.waiting > limit
    if (this.#tookSmallTenants) {
      const small = this.#takeInTurns(now, limit, isSmall)
      if (small.length > 0) return small
      this.#tookSmallTenants = false
    }
    return this.#takeInTurns(now, limit, () => true)
  }

  #takeInTurns(now: EpochMs, limit: number, isIncluded: (queue: TenantQueue) => boolean): Entry[] {
    const taken: Entry[] = []
    let before = -1
    while (taken.length < limit && taken.length > before) {
      before = taken.length
      const included = [...this.#due].filter(([, queue]) => isIncluded(queue))
      const share = Math.max(1, Math.floor((limit - taken.length) / included.length))
      for (const [tenantId, queue] of included.slice(0, limit - taken.length)) {
        this.#due.delete(tenantId)
        this.#take(queue, { now, share, taken })
        if (queue.next < queue.entries.length) this.#due.set(tenantId, queue)
      }
    }
    return taken
  }

  /** When the next job is due; too early where its entry was replaced, never too late. Null: there is none. */
  nextDueAt(): EpochMs | null {
    let first = this.#instants.first ?? Number.POSITIVE_INFINITY
    for (const { entries, next } of this.#due.values()) first = Math.min(first, entries[next]!.dueAt)
    return first === Number.POSITIVE_INFINITY ? null : (first as EpochMs)
  }

  #queueDue(now: EpochMs): void {
    for (
      let dueAt = this.#instants.first;
      dueAt !== undefined && dueAt <= now;
      dueAt = this.#instants.first
    ) {
      const { tenantId, entries, others } = this.#buckets.get(dueAt)!
      this.#queue(tenantId, entries)
      for (const [other, theirs] of others ?? []) this.#queue(other, theirs)
      this.#buckets.delete(dueAt)
      this.#instants.pop()
    }
  }

  /** Adds entries with the same due instant to the queue of their tenant. */
  #queue(tenantId: string, entries: Entry[]): void {
    const queue = this.#due.get(tenantId)
    if (queue === undefined) this.#due.set(tenantId, { entries, next: 0 })
    else for (const entry of entries) insert(queue, entry)
  }

  #take(queue: TenantQueue, { now, share, taken }: { now: EpochMs; share: number; taken: Entry[] }): void {
    for (let left = share; left > 0 && queue.next < queue.entries.length; queue.next++) {
      const entry = queue.entries[queue.next]!
      // A replaced entry is still in its old position; the map knows which entry counts.
      if (this.#byJob.get(entry.jobId) !== entry) continue
      // The clock was set back.
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
}

const isSmall = ({ entries, next }: TenantQueue) => entries.length - next <= smallTenantMax

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

function insert({ entries, next }: TenantQueue, entry: Entry): void {
  let at = entries.length
  // An entry that is put back after a failed fire is due before the waiting ones; every other entry comes last.
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
