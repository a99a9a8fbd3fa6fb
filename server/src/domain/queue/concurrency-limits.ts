// Limits how many executions of a tenant run at once: each worker holds at most its portion of the tier's limit. Nothing is
// counted up and down, so nothing can leak: the executions in flight are counted by the worker as it holds them, and the
// others as the store has them.
//
//   limit of the tier
//   - executions at workers of other classes, but a tenth of the limit is left to this class
//   - executions of this class that no active worker of it counts: at workers that drain or are silent, and awaited ones
//     whose caller is gone
//   = the allowance of the active workers of this class, divided among them without a rest; the places
//     beyond equal portions are at other workers for each tenant, so that tenants with small limits do not all wait for the
//     first ones
//
// Classes are calls, commands and the tenant's own workers. Each has a tenth for itself, at least one execution, so that it
// does not wait for as long as another class uses the whole limit; as soon as it uses its tenth, the others leave it.
//
// An execution without room goes back, unstarted and with its rank, to the lane of its tenant. From then on the tenant is
// behind: new executions go there too, and the lane is claimed in the order of rank, as far as there is room. That ends when
// a look at the store does not find the lane any more.
//
// A tenant without a limit costs one comparison while no tenant has one, and one look into a map otherwise.
import assert from 'node:assert'
import type { Worker } from './worker.ts'

const WORK_CLASSES = ['calls', 'commands', 'own'] as const
export type WorkClass = (typeof WORK_CLASSES)[number]

/** Executions of a tenant that a worker cannot count itself, by the class of the worker that holds or called them. */
export interface RunningElsewhere extends Readonly<Record<WorkClass, number>> {
  /** Called by the worker itself, and awaited: the target will report the end. */
  awaitedHere: number
}

/** The active workers like this one, itself included, and its number among them, from 0. */
export interface WorkerGroup {
  size: number
  nth: number
}

interface Limited {
  max: number
  elsewhere: RunningElsewhere
  /** Awaited executions that are younger than `elsewhere`. */
  awaitedSince: number
  /** With which member of a group the places begin that are left over from equal portions. */
  readonly first: number
  /** Since when executions wait in the lane of the tenant, or are on their way there; null: none does. */
  behindMs: number | null
}

const nowhere: RunningElsewhere = { calls: 0, commands: 0, own: 0, awaitedHere: 0 }
/** An execution that went back is in the store after this time, nearly always: until then its absence there says nothing. */
const settledMs = 250
const leastShare = 1 / 10

/** The class of a worker, by the executions that it runs. */
export function classOf({ tenantId, executors }: Pick<Worker, 'tenantId' | 'executors'>): WorkClass {
  if (tenantId !== null) return 'own'
  return executors.includes('http') ? 'calls' : 'commands'
}

/** How many executions the active workers of a class may hold together; may be below 0. */
export function allowanceOf(
  max: number,
  own: WorkClass,
  running: Readonly<Record<WorkClass, number>>,
): number {
  const least = Math.max(1, Math.floor(max * leastShare))
  const others = WORK_CLASSES.reduce((sum, one) => (one === own ? sum : sum + running[one]), 0)
  return Math.max(least, max - others) - running[own]
}

/** The portions of all members of a group are `count` together. */
export function portionOf(count: number, { size, nth }: WorkerGroup): number {
  if (count <= 0) return 0
  return Math.floor(count / size) + (nth < count % size ? 1 : 0)
}

/** The same at every worker, and spread evenly over tenants. */
function numberOf(tenantId: string): number {
  let number = 0
  for (let at = 0; at < tenantId.length; at++) number = (number * 31 + tenantId.charCodeAt(at)) >>> 0
  return number
}

/** `nowMs` is monotonic throughout; `inFlight`: executions of the tenant at this worker. */
export class ConcurrencyLimits {
  readonly #class: WorkClass
  readonly #limits = new Map<string, Limited>()
  /** The tenants with a `behindMs`. */
  readonly #behind = new Set<string>()
  #group: WorkerGroup = { size: 1, nth: 0 }

  constructor(own: WorkClass) {
    this.#class = own
  }

  /** Whether any tenant has a limit. */
  get isLimited(): boolean {
    return this.#limits.size > 0
  }

  /** Tenants with a limit. */
  get tenantIds(): string[] {
    return [...this.#limits.keys()]
  }

  /** Whether executions of any tenant wait for room. */
  get isBehind(): boolean {
    return this.#behind.size > 0
  }

  set group(group: WorkerGroup) {
    assert(group.size >= 1 && group.nth >= 0 && group.nth < group.size)
    this.#group = group
  }

  /** Null: no limit. */
  setLimit(tenantId: string, max: number | null): void {
    const known = this.#limits.get(tenantId)
    if (max === null) {
      this.#limits.delete(tenantId)
      this.#behind.delete(tenantId)
    } else if (known !== undefined) known.max = max
    else {
      const first = numberOf(tenantId)
      this.#limits.set(tenantId, { max, elsewhere: nowhere, awaitedSince: 0, first, behindMs: null })
    }
  }

  /** The store is about to be asked about these tenants. Returns the awaited executions that its answer will include. */
  beginCount(tenantIds: readonly string[]): Map<string, number> {
    return new Map(tenantIds.map((tenantId) => [tenantId, this.#limits.get(tenantId)?.awaitedSince ?? 0]))
  }

  /** The answer of the store; tenants that it does not name run nothing elsewhere. `included`: from `beginCount`. */
  setElsewhere(included: ReadonlyMap<string, number>, counts: ReadonlyMap<string, RunningElsewhere>): void {
    for (const [tenantId, awaited] of included) {
      const limited = this.#limits.get(tenantId)
      if (limited === undefined) continue
      limited.elsewhere = counts.get(tenantId) ?? nowhere
      limited.awaitedSince = Math.max(0, limited.awaitedSince - awaited)
    }
  }

  /** An execution has left this worker, and its target will report the end. */
  noteAwaited(tenantId: string): void {
    const limited = this.#limits.get(tenantId)
    if (limited !== undefined) limited.awaitedSince += 1
  }

  /** How many more executions of the tenant this worker may hold. */
  roomOf(tenantId: string, inFlight: number): number {
    const limited = this.#limits.get(tenantId)
    if (limited === undefined) return Number.POSITIVE_INFINITY
    const { max, elsewhere, awaitedSince, first } = limited
    const { size, nth } = this.#group
    const group = { size, nth: (nth + first) % size }
    const portion = portionOf(allowanceOf(max, this.#class, elsewhere), group)
    return Math.max(0, portion - inFlight - elsewhere.awaitedHere - awaitedSince)
  }

  /** Whether executions of the tenant wait in its lane. */
  isBehindOf(tenantId: string): boolean {
    return this.#behind.has(tenantId)
  }

  /** There was no room for an execution of the tenant, which waits in its lane. */
  fallBehind(tenantId: string, nowMs: number): void {
    const limited = this.#limits.get(tenantId)
    if (limited === undefined) return
    limited.behindMs ??= nowMs
    this.#behind.add(tenantId)
  }

  /** The lanes that have executions in the store, by a look that began at `askedMs`. */
  see(lanes: ReadonlySet<string>, askedMs: number): void {
    for (const tenantId of this.#behind) {
      const limited = this.#limits.get(tenantId)!
      if (lanes.has(tenantId) || askedMs - limited.behindMs! < settledMs) continue
      limited.behindMs = null
      this.#behind.delete(tenantId)
    }
  }
}
