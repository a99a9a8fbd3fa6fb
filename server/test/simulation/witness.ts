// Watches while the simulation runs, and reports at once every state that must never be: an execution in two places or
// back after its end, a slot before its time, more at once than a limit allows, a partition held by a scheduler that is
// gone. It sees every change of the store; checks that need to read everything are made now and then.

import type { JobVersion } from '../../src/domain/jobs/job.ts'
import { executionIdAt } from '../../src/domain/queue/execution.ts'
import { nameOfKey } from '../../src/domain/queue/release.ts'
import { workerLeaseMs } from '../../src/domain/queue/worker.ts'
import { dueAtOf } from '../../src/domain/schedule/jitter.ts'
import { type EpochMs, toRfc3339 } from '../../src/lib/time/epoch.ts'
import type { JobRow, LiveRow } from '../../testing/memory-store/rows.ts'
import type { MemoryStore } from '../../testing/memory-store/store.ts'
import { beforeCall } from './before-call.ts'
import { BudgetWitness } from './budget-witness.ts'
import type { Violation } from './checker.ts'
import type { Simulation } from './world.ts'

const lookEveryMs = 500
/** An outage that a watcher of leases cannot fail to notice. */
const noticedMs = 4_000
/** After it a worker has a whole term to beat again, except for drift and our late observation. */
const graceMs = workerLeaseMs - 1_000
const violationsMax = 20

export class Witness {
  readonly violations: Violation[] = []
  /** When each execution came to be, by the database's clock. */
  readonly bornAt = new Map<string, EpochMs>()
  readonly budgets: BudgetWitness
  readonly #sim: Simulation
  readonly #store: MemoryStore
  /** Ended executions, except the ones in batches, which are known by number. */
  readonly #ended = new Set<string>()
  /** The latest that the store's clock has read: it may be put back. */
  #latest = 0
  /** The last outage of the store, as far as it was seen. */
  #outage: { fromMs: number; toMs: number } | null = null

  constructor(sim: Simulation) {
    this.#sim = sim
    this.#store = sim.tables.store
    const { log } = this.#store
    this.budgets = new BudgetWitness(this.#store, (invariant, what) => this.#say(invariant, what))
    beforeCall(this.#store, 'enqueue', (...[entry, { kind }]: Parameters<MemoryStore['enqueue']>) => {
      this.#see(entry.executionId)
      if (kind !== 'trigger') this.#checkDue(entry)
    })
    beforeCall(this.#store, 'addLive', (row: LiveRow) => {
      const isNew = this.#see(row.executionId)
      if (this.#store.live.has(row.executionId)) this.#say('I25', `${row.executionId} is live twice`)
      if (isNew && row.kind === 'slot') this.#checkDue(row)
    })
    beforeCall(log, 'add', ({ executionId, attempt, final }: Parameters<typeof log.add>[0]) => {
      if (this.#ended.has(executionId))
        this.#say('I11', `attempt ${attempt} of ${executionId} came when it had ended`)
      if (final) this.#ended.add(executionId)
    })
    this.#lookLater()
  }

  /** A worker was declared dead. */
  seeReclaimed(workerId: string): void {
    if (this.#outage === null || this.#outage.toMs - this.#outage.fromMs < noticedMs) return
    const sinceMs = this.#sim.nowMs - this.#outage.toMs
    if (sinceMs < graceMs)
      this.#say('I10', `${workerId} was declared dead ${Math.round(sinceMs)} ms after an outage of the store`)
  }

  #see(executionId: string): boolean {
    if (this.#ended.has(executionId)) this.#say('I11', `${executionId} is back after its end`)
    if (this.bornAt.has(executionId)) return false
    this.bornAt.set(executionId, this.#store.now())
    return true
  }

  #checkDue({ jobId, version, slot }: { jobId: string; version: number; slot: EpochMs }): void {
    this.#latest = Math.max(this.#latest, this.#store.now())
    const definition = this.#store.jobs.get(jobId)?.versions.get(version)
    if (definition === undefined || definition.schedule.type === 'IMMEDIATE') return
    const due = dueAtOf(definition, slot)
    if (due > this.#latest)
      this.#say('I5', `the slot ${toRfc3339(slot)} of ${jobId} was fired before its time`)
  }

  #lookLater(): void {
    this.#sim.world.timers.schedule(lookEveryMs, () => {
      this.#latest = Math.max(this.#latest, this.#store.now())
      this.#seeOutage()
      this.#checkPlaces()
      this.#checkHolders()
      this.#checkCounts()
      this.budgets.look()
      this.#lookLater()
    })
  }

  #seeOutage(): void {
    const { nowMs, trouble } = this.#sim
    if (!trouble.isAway) return
    const isSame = this.#outage !== null && nowMs - this.#outage.toMs <= lookEveryMs
    this.#outage = { fromMs: isSame ? this.#outage!.fromMs : nowMs, toMs: nowMs }
  }

  #checkPlaces(): void {
    const { batches, live } = this.#store
    for (const { batchId, entries } of batches.values())
      for (const { position } of entries) {
        const executionId = executionIdAt(batchId, position)
        if (live.has(executionId)) this.#say('I25', `${executionId} is in its batch and live`)
        if (this.#ended.has(executionId)) this.#say('I25', `${executionId} has ended and is in its batch`)
      }
    for (const executionId of live.keys())
      if (this.#ended.has(executionId)) this.#say('I25', `${executionId} has ended and is live`)
  }

  #checkHolders(): void {
    const { holders, schedulers, leases, batches, live } = this.#store
    holders.forEach((holder, id) => {
      if (holder !== null && !schedulers.has(holder))
        this.#say('I8', `the partition ${id} is held by ${holder}, who is gone`)
    })
    for (const { workerId, batchId } of batches.values())
      if (workerId !== null && !leases.has(workerId))
        this.#say('I14', `the batch ${batchId} is held by ${workerId}, who is gone`)
    for (const { workerId, executionId } of live.values())
      if (workerId !== null && !leases.has(workerId))
        this.#say('I14', `${executionId} is held by ${workerId}, who is gone`)
  }

  #checkCounts(): void {
    const { jobs } = this.#store
    const keys = new Map<string, { count: number; limit: number }>()
    for (const job of jobs.values()) {
      const count = underWay(job)
      if (count === 0) continue
      const version = job.versions.get(job.version)!
      const limit = this.#sim.graphs.has(job.jobId) || isBackfilling(job) ? null : limitOf(version)
      if (limit !== null && count > limit)
        this.#say('I20', `${count} of ${job.jobId} are under way, of at most ${limit}`)
      const { concurrencyKey } = version
      if (concurrencyKey === null) continue
      const name = nameOfKey(job.tenantId, concurrencyKey.key)
      const counted = keys.get(name) ?? { count: 0, limit: concurrencyKey.limit }
      counted.count += count
      keys.set(name, counted)
    }
    for (const [name, { count, limit }] of keys)
      if (count > limit) this.#say('I20', `${count} hold the key ${name}, of at most ${limit}`)
  }

  #say(invariant: string, what: string): void {
    if (this.violations.length === violationsMax) return
    this.violations.push({ invariant, what, atMs: Math.round(this.#sim.nowMs) })
  }
}

/** Neither waiting for its turn nor for others. */
function underWay({ live, batched }: JobRow): number {
  let count = batched.size
  for (const { state } of live) if (!isHeld(state)) count += 1
  return count
}

/** Executions of a backfill may run beside each other, as requested. */
function isBackfilling({ live, batched }: JobRow): boolean {
  if (batched.size > 0) return false
  return live.values().every(({ state, kind }) => kind === 'backfill' || isHeld(state))
}

function isHeld(state: LiveRow['state']): boolean {
  return state === 'waiting' || state === 'blocked'
}

/** Maximum concurrent executions of a single job; null: any number. */
function limitOf({ overlapPolicy, concurrencyLimit }: JobVersion): number | null {
  return overlapPolicy === 'ALLOW' ? concurrencyLimit : 1
}
