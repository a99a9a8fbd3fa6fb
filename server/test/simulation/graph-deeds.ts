// People that act on graphs and their runs all day: they trigger, pause, cancel and resume, and change dependencies
// while runs go on. Their actions are recorded for the checker.

import {
  deleteJob,
  editJob,
  type JobState,
  type JobWrite,
  pauseJob,
  resumeJob,
} from '../../src/domain/jobs/job-change.ts'
import { sharedLane } from '../../src/domain/queue/lane.ts'
import type { EpochMs } from '../../src/lib/time/epoch.ts'
import type { GraphRunRow, JobRow } from '../../testing/memory-store/rows.ts'
import { versionAfter } from '../conformance/jobs/changes.ts'
import { Dice } from '../fuzz/dice.ts'
import { drawRule } from '../graphs/random-graph.ts'
import type { Change } from './changes.ts'
import type { GraphMember } from './graphs.ts'
import type { Simulation } from './world.ts'

export interface DeedOptions {
  /** Nothing is done later; every job paused by then is resumed. */
  untilMs: number
  /** How many there are, about. Default 500. */
  deeds?: number
}

/** Besides pauses, resumes and edits, which are among the changes of jobs. */
export type GraphDeed = { at: EpochMs } & (
  | { kind: 'edges'; jobId: string; tenantId: string }
  | { kind: 'delete'; jobId: string }
  | { kind: 'trigger'; jobId: string; executionId: string; runId: string | null }
  | { kind: 'cancel execution'; executionId: string }
  /** With the executions in flight at workers, which may still start. */
  | { kind: 'cancel run'; runId: string; running: readonly string[] }
  /** With when it was over before. */
  | { kind: 'resume run'; runId: string; finishedAt: EpochMs; executionIds: readonly string[] }
)

const deedsDefault = 500
const pauseShareMax = 0.03
/** Older runs are not resumed. */
const recentRuns = 30

export function startDeeds(sim: Simulation, { untilMs, deeds = deedsDefault }: DeedOptions): void {
  if (sim.graphs.size === 0) return
  const dice = new Dice(sim.seedOf('graph deeds'))
  const doer = new Doer(sim, dice, untilMs)
  const next = () => {
    sim.world.timers.schedule(dice.between(1, (2 * untilMs) / deeds), () => {
      if (sim.nowMs >= untilMs) return
      doer.doOne()
      next()
    })
  }
  next()
  sim.world.timers.schedule(untilMs, () => doer.resumeAll())
}

class Doer {
  readonly #sim: Simulation
  readonly #dice: Dice
  readonly #untilMs: number
  readonly #newId: () => string

  constructor(sim: Simulation, dice: Dice, untilMs: number) {
    this.#sim = sim
    this.#dice = dice
    this.#untilMs = untilMs
    const ids = sim.idsOf('graph deeds')
    this.#newId = () => ids.nextBatch()
  }

  doOne(): void {
    const luck = this.#dice.below(100)
    const { tables, graphs } = this.#sim
    const members = [...graphs.values()].filter(({ jobId }) => this.#jobOf(jobId).cursor.status !== 'DELETED')
    const member = this.#dice.pick(members)
    if (luck < 25) this.#pause(member)
    else if (luck < 45) this.#changeEdges(member)
    else if (luck < 47) this.#delete(member)
    else if (luck < 62) this.#trigger(this.#dice.pick(members.filter(({ role }) => role === 'root')))
    else if (luck < 67) this.#trigger(member)
    else if (luck < 80) this.#soon(this.#openRuns(), (runs) => this.#cancelRun(runs))
    else if (luck < 87) this.#soon(this.#openRuns(), () => this.#cancelOne())
    else this.#resumeRun([...tables.store.graphRuns.values()].slice(-recentRuns).filter(isFailed))
  }

  resumeAll(): void {
    for (const { jobId } of this.#sim.graphs.values()) this.#resume(this.#jobOf(jobId))
  }

  /** Where runs are short and rare hardly any would be met: then one is started, and met a moment later. */
  #soon(runs: readonly GraphRunRow[], meet: (runs: readonly GraphRunRow[]) => void): void {
    if (runs.length > 0) {
      meet(runs)
      return
    }
    const roots = [...this.#sim.graphs.values()].filter(({ role }) => role === 'root')
    this.#trigger(this.#dice.pick(roots))
    this.#sim.world.timers.schedule(this.#dice.between(1, 2_000), () => meet(this.#openRuns()))
  }

  #openRuns(): GraphRunRow[] {
    return [...this.#sim.tables.store.graphRuns.values()].slice(-recentRuns).filter(isOpen)
  }

  #jobOf(jobId: string): JobRow {
    return this.#sim.tables.store.jobs.get(jobId)!
  }

  #pause({ jobId }: GraphMember): void {
    const job = this.#jobOf(jobId)
    this.#change(job, 'pause', (state) => pauseJob(state, { by: 'somebody', reason: null, until: null }))
    const forMs = this.#dice.between(1, this.#dice.chance(0.5) ? 5_000 : this.#untilMs * pauseShareMax)
    this.#sim.world.timers.schedule(forMs, () => this.#resume(job))
  }

  #resume(job: JobRow): void {
    this.#change(job, 'resume', (state) => resumeJob(state, { by: 'somebody', at: null }))
  }

  #changeEdges({ jobId, tenantId, spine, others }: GraphMember): void {
    if (spine === null) return
    const isLeft = (id: string) => this.#jobOf(id).cursor.status !== 'DELETED'
    const more = others.filter((id) => isLeft(id) && this.#dice.chance(0.1)).slice(0, 3)
    const dependsOn = [...new Set([spine, ...more])].map((id) => ({ jobId: id, on: drawRule(this.#dice) }))
    const decide = (state: JobState) => {
      const version = { ...versionAfter(state), dependsOn }
      return editJob(state, { by: 'somebody', key: null, version })
    }
    if (this.#change(this.#jobOf(jobId), 'edit', decide, { dependsOn }))
      this.#note({ kind: 'edges', jobId, tenantId })
  }

  #delete({ jobId, role }: GraphMember): void {
    if (role !== 'spare') return
    const cancelRunning = this.#dice.chance(0.5)
    const decide = (state: JobState) => deleteJob(state, { by: 'somebody', cancelRunning })
    if (this.#change(this.#jobOf(jobId), 'delete', decide, { dependsOn: [] }))
      this.#note({ kind: 'delete', jobId })
  }

  #trigger({ jobId, tenantId }: GraphMember): void {
    const executionId = this.#newId()
    const at = this.#sim.world.clock.databaseNow()
    // It waits for the budget where its tenant has a limit.
    const order = { tenantId, jobId, executionId, lane: sharedLane, uncharged: true } as const
    void this.#sim.tables.jobs.trigger(order).then((outcome) => {
      if (outcome.kind !== 'triggered') throw new Error(`${jobId} was not triggered: ${outcome.kind}`)
      this.#sim.deeds.push({ kind: 'trigger', at, jobId, executionId, runId: outcome.runId })
    })
  }

  #cancelRun(runs: readonly GraphRunRow[]): void {
    if (runs.length === 0) return
    const { tenantId, runId } = this.#dice.pick(runs)
    const { store } = this.#sim.tables
    const rows = [...store.live.values()].filter((row) => row.runId === runId && row.state === 'running')
    const running = rows.map(({ executionId }) => executionId)
    void this.#sim.tables.graphRuns.cancel({ tenantId, runId, message: 'The run was cancelled by somebody.' })
    this.#note({ kind: 'cancel run', runId, running })
  }

  #cancelOne(): void {
    const { store, control } = this.#sim.tables
    const rows = [...store.live.values()].filter(({ jobId }) => this.#sim.graphs.has(jobId))
    if (rows.length === 0) return
    const { tenantId, executionId } = this.#dice.pick(rows)
    void control.cancel({ tenantId, executionId, message: 'Cancelled by somebody.' })
    this.#note({ kind: 'cancel execution', executionId })
  }

  #resumeRun(runs: readonly GraphRunRow[]): void {
    if (runs.length === 0) return
    const { tenantId, runId, finishedAt } = this.#dice.pick(runs)
    const at = this.#sim.world.clock.databaseNow()
    const tools = { newExecutionId: this.#newId, laneOf: () => sharedLane }
    void this.#sim.tables.graphRuns.resume({ tenantId, runId, ...tools }).then((outcome) => {
      if (outcome.kind !== 'resumed') return
      const { executionIds } = outcome
      this.#sim.deeds.push({ kind: 'resume run', at, runId, finishedAt: finishedAt!, executionIds })
    })
  }

  /** Whether it was made. In memory that is at once; the promise only says so later. */
  #change(
    job: JobRow,
    kind: Change['kind'],
    decide: (state: JobState) => JobWrite | string | null,
    target: Pick<Parameters<Simulation['tables']['jobs']['change']>[0], 'dependsOn'> = {},
  ): boolean {
    const { tenantId, jobId } = job
    const before = job.cursor.status
    let isMade = false
    const change = this.#sim.tables.jobs.change({ tenantId, jobId, ...target }, (state) => {
      if (state.status === 'DELETED') return null
      const write = decide(state)
      if (typeof write === 'string' || write === null) return null
      isMade = true
      return write
    })
    void change.then((view) => {
      if (typeof view === 'string' || 'kind' in view)
        throw new Error(`the ${kind} of ${jobId} was refused: ${JSON.stringify(view)}`)
    })
    if (!isMade) return false
    const { status: after, version } = job.cursor
    const at = this.#sim.world.clock.databaseNow()
    this.#sim.changes.push({ kind, jobId, at, asOf: null, before, after, version, pending: [], running: [] })
    return true
  }

  #note(deed: DeedWithoutTime): void {
    this.#sim.deeds.push({ ...deed, at: this.#sim.world.clock.databaseNow() })
  }
}

type DeedWithoutTime = GraphDeed extends infer Deed
  ? Deed extends GraphDeed
    ? Omit<Deed, 'at'>
    : never
  : never

function isOpen({ finishedAt }: GraphRunRow): boolean {
  return finishedAt === null
}

function isFailed({ status }: GraphRunRow): boolean {
  return status === 'FAILED' || status === 'CANCELLED'
}
