// Advances graph runs: looks at runs with new notes, a bounded number at a time. Every scheduler does it; the holder of
// a run's lock decides. After a failure fewer are stepped, down to a single one, so that the failing run is known and
// holds up no others.
import { executionIdAt } from '../domain/queue/execution.ts'
import type { LaneChooser } from '../domain/queue/lane.ts'
import type { Clock } from '../ports/clock.ts'
import type { RunSteps, RunTools, Stepped } from '../ports/graph-runs.ts'
import type { Ids } from '../ports/ids.ts'
import { emitSettled } from '../telemetry/emit-settled.ts'
import { graphRunFinished, graphRunQuarantined } from '../telemetry/events.ts'
import { QuarantinedRuns } from './quarantined-runs.ts'

export interface StepRunsDeps {
  clock: Pick<Clock, 'monotonicMs'>
  ids: Ids
  lanes: LaneChooser
  runSteps: Pick<RunSteps, 'findNoted' | 'step'>
  /** Called after a commit that made something claimable. */
  onReady: () => void
  /** Called after a commit that left something waiting, or ended an execution that others wait for. */
  onWaiting: () => void
  /** Called after a commit that cancelled running executions. */
  onCancelled: () => void
  /** Called after a commit that ended runs. */
  onOver: () => void
}

const runsMax = 200
/** While there are open runs. */
const stepEveryMs = 100
/** Pages without a wait between them. */
const pagesMax = 10
/** How long after the last note runs count as open. */
const openMs = 1_000
/** Hints come with every execution that ends, in a graph or not: while no run is open they are looked into no more often. */
const calmMs = 20
/** Interval of the check whether an unfired root's slot was skipped: a skip writes no note. */
const lookForUnfiredEveryMs = 1_000
/** The floor while no run is open. */
export const lookForRunsEveryMs = 1_000

export class RunStepper {
  readonly #deps: StepRunsDeps
  readonly #tools: RunTools
  #lookedMs = Number.NEGATIVE_INFINITY
  #lookedForUnfiredMs = Number.NEGATIVE_INFINITY
  #foundMs = Number.NEGATIVE_INFINITY
  /** Pages in a row without a wait. */
  #pages = 0
  /** How many runs are looked at in one step. */
  #pageMax = runsMax
  readonly #stuck = new QuarantinedRuns()

  constructor(deps: StepRunsDeps) {
    const { clock, ids, lanes } = deps
    this.#deps = deps
    this.#tools = {
      newExecutionId: () => executionIdAt(ids.nextBatch(), 0),
      laneOf: (tenantId) => lanes.choose(tenantId, clock.monotonicMs()),
    }
  }

  async step(): Promise<'more' | 'idle' | number> {
    const { clock, runSteps } = this.#deps
    const nowMs = clock.monotonicMs()
    const sinceMs = nowMs - this.#lookedMs
    if (!this.#isOpen(nowMs) && sinceMs < calmMs) return calmMs - sinceMs
    const unfired = nowMs - this.#lookedForUnfiredMs >= lookForUnfiredEveryMs
    const due = this.#stuck.findDue(nowMs)
    const runIds = due === null ? await runSteps.findNoted(this.#pageMax, unfired, this.#stuck.runIds) : [due]
    this.#lookedMs = nowMs
    if (unfired && due === null) this.#lookedForUnfiredMs = nowMs
    if (runIds.length === 0) return this.#rest(nowMs)
    this.#foundMs = nowMs
    const isFull = due !== null || runIds.length === this.#pageMax
    const stepped = await this.#stepAll(runIds, nowMs)
    this.#notify(stepped)
    // Nodes that started or ended may have been noted again by now. If nothing of a page moved, others hold its runs.
    const leadsOn = isFull || stepped.left || hasMoved(stepped)
    this.#pages += 1
    if (leadsOn && this.#pages < pagesMax) return 'more'
    return this.#rest(nowMs)
  }

  async #stepAll(runIds: readonly string[], nowMs: number): Promise<Stepped> {
    try {
      const stepped = await this.#deps.runSteps.step(runIds, this.#tools)
      this.#stuck.noteSuccess(runIds)
      this.#pageMax = Math.min(this.#pageMax * 2, runsMax)
      return stepped
    } catch (error) {
      if (runIds.length > 1) this.#pageMax = Math.floor(runIds.length / 2)
      else if (this.#stuck.noteFailure(runIds[0]!, nowMs)) graphRunQuarantined.emit({ runId: runIds[0]! })
      throw error
    }
  }

  #isOpen(nowMs: number): boolean {
    return nowMs - this.#foundMs < openMs
  }

  #rest(nowMs: number): 'idle' | number {
    this.#pages = 0
    return this.#isOpen(nowMs) ? stepEveryMs : 'idle'
  }

  #notify(stepped: Stepped): void {
    const { onReady, onWaiting, onCancelled, onOver } = this.#deps
    emitSettled(stepped.settled)
    for (const status of stepped.over) graphRunFinished.emit({ status })
    if (stepped.ready > 0) onReady()
    if (stepped.waiting) onWaiting()
    if (stepped.cancelled) onCancelled()
    if (stepped.over.length > 0) onOver()
  }
}

function hasMoved({ ready, waiting, cancelled, over }: Stepped): boolean {
  return ready > 0 || waiting || cancelled || over.length > 0
}
