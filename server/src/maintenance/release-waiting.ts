// The one release loop: releases the waiting executions of a job, by the plan that `domain/queue/release.ts` makes
// while the job is locked. It scans waiting executions, a bounded number of jobs at a time, and goes round; a finish
// touches none of their rows. In a round of many steps tenants have turns besides: a tenant with few waiting jobs does not wait
// until the round has gone through the jobs of a tenant with very many.

import { runIdOfOwnSlot, runIdOfSlot } from '../domain/graphs/graph-run.ts'
import { executionIdAt } from '../domain/queue/execution.ts'
import type { LaneChooser } from '../domain/queue/lane.ts'
import { type KeyCounts, planRelease, type WaitingJob } from '../domain/queue/release.ts'
import { isAfterCompletion } from '../domain/schedule/after-completion.ts'
import type { EpochMs } from '../lib/time/epoch.ts'
import type { Clock } from '../ports/clock.ts'
import type { Ids } from '../ports/ids.ts'
import type { Maintenance, Released, ReleaseOrder, WaitingOfTenants } from '../ports/maintenance.ts'
import { emitCancelled } from '../telemetry/emit-settled.ts'

export interface ReleaseDeps {
  clock: Pick<Clock, 'databaseNow'>
  ids: Ids
  lanes: LaneChooser
  maintenance: Pick<Maintenance, 'findWaiting' | 'findWaitingOfTenants' | 'release'>
  /** Called after a commit that made something claimable. */
  onReady: () => void
  /** Called after a commit that cancelled running executions. */
  onCancelled: () => void
  /** Called after a commit that gave a job its next slot. */
  onPlanned: () => void
}

const jobsMax = 500
/** In each step of a round of many. */
const turns: WaitingOfTenants = { tenants: 16, each: 8 }
/** While something waits. */
const releaseEveryMs = 100
/** Rounds without a wait between them, for as long as one makes way for the next. */
const roundsMax = 10
/** The floor while nothing waits. */
export const lookForWaitingEveryMs = 1_000

export class Releaser {
  readonly #deps: ReleaseDeps
  /** Where the round is; null: at its beginning. */
  #after: string | null = null
  /** The tenant that had a turn last; null: the first one is next. */
  #lastTenant: string | null = null
  #found = 0
  /** Whether this round made way for more. */
  #more = false
  /** Rounds in a row without a wait. */
  #rounds = 0

  constructor(deps: ReleaseDeps) {
    this.#deps = deps
  }

  async step(): Promise<'more' | 'idle' | number> {
    const { maintenance } = this.#deps
    const inTurn = this.#after === null ? [] : await this.#takeTurns()
    const jobIds = await maintenance.findWaiting(this.#after, jobsMax)
    const both = [...new Set([...inTurn, ...jobIds])]
    if (both.length > 0) this.#notify(await maintenance.release(both, (job, keys) => this.#order(job, keys)))
    this.#found += jobIds.length
    // The first page has more than that when others wait longest for a key.
    if (jobIds.length >= jobsMax) {
      this.#after = jobIds.at(-1)!
      return 'more'
    }
    return this.#endRound()
  }

  async #takeTurns(): Promise<string[]> {
    const { jobIds, last } = await this.#deps.maintenance.findWaitingOfTenants(this.#lastTenant, turns)
    this.#lastTenant = last
    return jobIds
  }

  #notify({ ready, cancelled, planned, more, settled = [] }: Released): void {
    const { onReady, onCancelled, onPlanned } = this.#deps
    if (ready > 0) onReady()
    if (cancelled) onCancelled()
    if (planned) onPlanned()
    this.#more ||= more
    emitCancelled(settled)
  }

  #endRound(): 'more' | 'idle' | number {
    const [found, more] = [this.#found, this.#more]
    this.#after = null
    this.#found = 0
    this.#more = false
    this.#rounds += 1
    if (more && this.#rounds < roundsMax) return 'more'
    this.#rounds = 0
    return found === 0 ? 'idle' : releaseEveryMs
  }

  #order(job: WaitingJob, keys: KeyCounts): ReleaseOrder {
    const plan = planRelease(job, keys)
    const { ids, lanes, clock } = this.#deps
    const { jobId, tenantId, priority, graphId, schedule } = job
    const runIdFor = (graph: string, slot: EpochMs) =>
      isAfterCompletion(schedule) ? runIdOfOwnSlot(graph, jobId, slot) : runIdOfSlot(graph, slot)
    const executions = (plan.owed?.slots ?? []).map((slot) => ({
      executionId: executionIdAt(ids.nextBatch(), 0),
      runId: graphId === null ? null : runIdFor(graphId, slot),
      lane: lanes.choose(tenantId, clock.databaseNow()),
      priority,
    }))
    return { ...plan, executions }
  }
}
