// Users that read and repeat: lists, single executions, ledgers; retries, and letters edited, discarded or redriven. No
// stage of a simulation does all that, and both stores must agree on it all the same.
import { sharedLane } from '../../src/domain/queue/lane.ts'
import { epochMs } from '../../src/lib/time/epoch.ts'
import type { ExecutionQuery } from '../../src/ports/executions.ts'
import { leanPage } from '../../src/ports/pages.ts'
import { Dice } from '../fuzz/dice.ts'
import { listWorkers } from '../list-workers.ts'
import type { Simulation } from '../simulation/world.ts'

const everyMsMax = 1_500
const pageMax = 20
const hourMs = 3_600_000

export function startReaders(sim: Simulation, untilMs: number): void {
  const reader = new Reader(sim)
  const dice = new Dice(sim.seedOf('readers'))
  const next = () => {
    sim.world.timers.schedule(dice.between(1, everyMsMax), () => {
      if (sim.nowMs >= untilMs) return
      reader.look(dice)
      if (dice.chance(0.4)) reader.repeat(dice)
      next()
    })
  }
  next()
}

class Reader {
  readonly #sim: Simulation
  readonly #newId: () => string

  constructor(sim: Simulation) {
    this.#sim = sim
    const ids = sim.idsOf('readers')
    this.#newId = () => ids.nextBatch()
  }

  look(dice: Dice): void {
    const { store, jobs, deadLetters, graphRuns, executions, slotLedger, control, workers, queue } =
      this.#sim.tables
    const { tenantId, jobId } = dice.pick([...store.jobs.values()])
    const filter = { status: null, tag: null, q: dice.pick([null, 'quick', 'Later', '3']) }
    const range = { tenantId, jobId, ...this.#range() }
    const runs = [...store.graphRuns.values()]
    const looks: (() => unknown)[] = [
      () => jobs.get(tenantId, jobId),
      () =>
        jobs.list({
          tenantId,
          filter,
          before: null,
          offset: dice.below(3),
          limit: dice.between(1, pageMax),
          ...leanPage,
        }),
      () => jobs.count(tenantId, filter),
      () => executions.listExecutions(this.#query(dice, { tenantId, jobId: dice.pick([null, jobId]) })),
      () => control.findUnended(this.#query(dice, { tenantId, jobId: dice.pick([null, jobId]) })),
      () => slotLedger.listSkips({ ...range, limit: pageMax, order: dice.pick(['asc', 'desc']) }),
      () => executions.underWay(tenantId, jobId),
      () => this.#getOne(dice),
      () => deadLetters.list({ tenantId, filter: anyLetter, before: null, limit: pageMax, ...leanPage }),
      () => deadLetters.depth(),
      () => graphRuns.graphOf(tenantId, jobId),
      () => graphRuns.list({ ...anyRun, tenantId, jobId: dice.pick([null, jobId]) }),
      () => runs.length > 0 && graphRuns.get(tenantId, dice.pick(runs).runId),
      () => listWorkers(workers, { tenantId: null }),
      () => workers.runners({ executor: 'http', tenantId: null, handler: null, labels: [] }),
      () => workers.hasRunner({ executor: 'http', tenantId, handler: null, labels: [] }),
      () => queue.waiting(['server'], 10),
    ]
    void dice.pick(looks)()
  }

  repeat(dice: Dice): void {
    const { store, control, deadLetters } = this.#sim.tables
    const letters = [...store.deadLetters.values()]
    const luck = dice.below(100)
    if (luck < 40 || letters.length === 0) {
      const ended = this.#ended(dice)
      if (ended !== null) void control.retry({ ...ended, newExecutionId: this.#newId(), lane: sharedLane })
      return
    }
    const { tenantId, executionId } = dice.pick(letters)
    if (luck < 60) void deadLetters.edit(tenantId, executionId, { edited: luck })
    else if (luck < 70) void deadLetters.discard(tenantId, executionId)
    else {
      const some = letters.filter((letter) => letter.tenantId === tenantId && dice.chance(0.5)).slice(0, 3)
      const order = some.map((letter) => {
        return { executionId: letter.executionId, newExecutionId: this.#newId(), lane: sharedLane }
      })
      void deadLetters.redrive({ tenantId, letters: order })
    }
  }

  #getOne(dice: Dice): unknown {
    const { store, executions } = this.#sim.tables
    const live = [...store.live.values()]
    const one = live.length > 0 && dice.chance(0.5) ? dice.pick(live) : this.#ended(dice)
    return one === null ? null : executions.getExecution(one.tenantId, one.executionId)
  }

  #ended(dice: Dice): { tenantId: string; executionId: string } | null {
    const ended = [...this.#sim.tables.store.jobs.values()].flatMap((job) =>
      [...job.ended].slice(-3).map((executionId) => ({ tenantId: job.tenantId, executionId })),
    )
    return ended.length === 0 ? null : dice.pick(ended)
  }

  #range() {
    const now = this.#sim.world.clock.databaseNow()
    return { from: epochMs(now - hourMs), to: now }
  }

  #query(dice: Dice, whose: Pick<ExecutionQuery, 'tenantId' | 'jobId'>): ExecutionQuery {
    const status = dice.pick([null, null, 'PENDING', 'RUNNING', 'SUCCEEDED', 'FAILED', 'CANCELLED'] as const)
    const kind = dice.pick([null, null, null, 'slot', 'dependency', 'retry'] as const)
    const rest = {
      errorType: null,
      deadLetter: null,
      workerId: null,
      tag: null,
      q: null,
      from: null,
      to: null,
      before: null,
    }
    return { ...whose, status, kind, ...rest, limit: dice.between(1, pageMax) }
  }
}

const anyLetter = { jobId: null, reason: null, errorType: null, from: null, to: null }
const anyRun = { status: null, from: null, to: null, before: null, limit: pageMax }
