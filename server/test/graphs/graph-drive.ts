// Runs many graphs at once on one store: the real loops that step runs and release waiting executions, and one worker
// that ends every execution as a script says, in any order. Some executions are first lost with their worker. The final
// records follow from the scripts alone, so every store must have the same.
import assert from 'node:assert/strict'
import { runIdOfSlot } from '../../src/domain/graphs/graph-run.ts'
import { LaneChooser, sharedLane } from '../../src/domain/queue/lane.ts'
import { serverRoute, suspectHost } from '../../src/domain/queue/route.ts'
import { Releaser } from '../../src/maintenance/release-waiting.ts'
import { RunStepper } from '../../src/maintenance/step-runs.ts'
import type { NewJob } from '../../src/ports/jobs.ts'
import type { ClaimedLive } from '../../src/ports/queue.ts'
import { change, pause, resume } from '../conformance/jobs/changes.ts'
import type { Dice } from '../fuzz/dice.ts'
import { type GraphStore, nothingLeft } from './graph-store.ts'
import type { Fate } from './model.ts'
import type { Shape } from './random-graph.ts'

export interface NodeScript {
  fate: Exclude<Fate, 'unrun' | 'absent' | 'deleted'>
  /** How often its worker dies before that. */
  losses: number
}

/** One graph, and the run of it. */
export interface Track {
  shape: Shape
  jobs: readonly NewJob[]
  script: NodeScript[]
  graphId: string
  runId: string
}

/** The settings of each job besides its dependencies; the same for every store. */
export type JobChanges = (nodeIndex: number) => Partial<NewJob>

/** Looks in vain in a row, after which nothing comes any more. */
const idleRoundsMax = 20

export class GraphDrive {
  readonly #store: GraphStore
  readonly #dice: Dice
  readonly #byJob = new Map<string, { track: Track; nodeIndex: number }>()
  readonly #steppers: RunStepper[]
  readonly #releaser: Releaser
  /** Roots that are still to fire for the slot of their run. */
  #unfired: NewJob[] = []
  #held: ClaimedLive[] = []
  readonly #claimed = new Set<string>()
  #workerId: string | null = null

  constructor(store: GraphStore, dice: Dice) {
    const { s, runSteps } = store
    this.#store = store
    this.#dice = dice
    let looks = 0
    // For the loops a second passes between any two looks: none rests.
    const clock = { databaseNow: () => s.at(600), uncertaintyMs: () => 0, monotonicMs: () => ++looks * 1_000 }
    const told = { onReady() {}, onWaiting() {}, onCancelled() {}, onOver() {}, onPlanned() {} }
    const same = { clock, ids: s.ids, lanes: new LaneChooser(), ...told }
    this.#steppers = runSteps.map((one) => new RunStepper({ ...same, runSteps: one }))
    this.#releaser = new Releaser({ ...same, maintenance: s.maintenance })
  }

  /** Jobs in the order of their nodeIndexes. */
  async create(shape: Shape, script: NodeScript[], changesOf: JobChanges = () => ({})): Promise<Track> {
    const { s } = this.#store
    const jobs: NewJob[] = []
    const parents = Map.groupBy(shape.edges, ({ child }) => child)
    for (let nodeIndex = 0; nodeIndex < shape.nodes; nodeIndex++) {
      const dependsOn = (parents.get(nodeIndex) ?? []).map(({ parent, on }) => ({
        jobId: jobs[parent]!.jobId,
        on,
      }))
      const own = dependsOn.length > 0 ? { dependsOn, slotAt: null } : {}
      const retryPolicy = {
        max_retries: 0,
        backoff: 'FIXED',
        initial_delay_ms: 1_000,
        max_delay_ms: 1_000,
      } as const
      jobs.push(await s.createJob({ name: `${nodeIndex}`, retryPolicy, ...changesOf(nodeIndex), ...own }))
    }
    // The first to be made has the least id.
    const graphId = jobs[0]!.jobId
    const track: Track = { shape, jobs, script, graphId, runId: '' }
    for (const [nodeIndex, { jobId }] of jobs.entries()) this.#byJob.set(jobId, { track, nodeIndex })
    for (const [nodeIndex, job] of jobs.entries())
      if (script[nodeIndex]!.fate === 'paused') await change(s, job, pause())
    return track
  }

  /** One root is triggered; several fire for one slot, one after the other while the run goes on. */
  async start(track: Track): Promise<void> {
    const { s } = this.#store
    const roots = track.jobs.filter(({ dependsOn }) => dependsOn.length === 0)
    if (roots.length === 1) {
      track.runId = await s.trigger(roots[0]!)
      return
    }
    track.runId = runIdOfSlot(track.graphId, s.at(0))
    const [first, ...others] = this.#dice.shuffle(roots)
    this.#unfired.push(...others)
    await this.#fire(first!)
  }

  /** In all that did not go well the next time everything does. */
  async resume(track: Track): Promise<'resumed' | 'nothing'> {
    const { s, graphRuns } = this.#store
    for (const [nodeIndex, job] of track.jobs.entries())
      if (track.script[nodeIndex]!.fate === 'paused') await change(s, job, resume())
    track.script = track.script.map(() => ({ fate: 'succeeded', losses: 0 }))
    const tools = { newExecutionId: () => s.ids.nextBatch(), laneOf: () => sharedLane }
    const { tenantId } = track.jobs[0]!
    const outcome = await graphRuns.resume({ tenantId, runId: track.runId, ...tools })
    assert(outcome.kind === 'resumed' || outcome.kind === 'nothing', outcome.kind)
    return outcome.kind
  }

  /** Until nothing is under way. */
  async drive(): Promise<void> {
    let idleRounds = 0
    while (true) {
      await Promise.all([...this.#steppers.map(untilCalm), this.#work()])
      await untilCalm(this.#releaser)
      if (this.#unfired.length > 0 && this.#dice.chance(0.3)) await this.#fire(this.#unfired.pop()!)
      const isBusy = (await this.#claim()) > 0 || this.#held.length > 0 || this.#unfired.length > 0
      idleRounds = isBusy ? 0 : idleRounds + 1
      await this.#store.tick()
      if (isBusy) continue
      const left = await this.#store.left()
      if (Object.values(left).every((rows) => rows === 0)) return
      // Runs that one stepper left to the other are checked in the next round.
      if (idleRounds > idleRoundsMax)
        assert.deepEqual(left, nothingLeft, 'nothing goes on, and not all has ended')
    }
  }

  async #fire(root: NewJob): Promise<void> {
    const { track } = this.#byJob.get(root.jobId)!
    const { graphId, runId } = track
    const answer = await this.#store.s.tryFire(root, 0, { graphId, runId, ownRow: true })
    // One with a key waits until the release loop has counted.
    assert.equal(answer, root.concurrencyKey === null ? 'fired' : 'buffered')
  }

  async #claim(): Promise<number> {
    const { queue, addWorker } = this.#store.s
    this.#workerId ??= await addWorker()
    const count = 10_000
    const { batches, live } = await queue.claim({
      workerId: this.#workerId,
      routes: [serverRoute],
      lanes: [{ lane: sharedLane, count }],
      hosts: [{ host: suspectHost, count }],
      batchesMax: 20,
    })
    assert.deepEqual(batches, [], 'executions of a run are rows of their own')
    for (const { executionId, attempt } of live) {
      const key = `${executionId} ${attempt}`
      assert.ok(!this.#claimed.has(key), `${key} was claimed twice`)
      this.#claimed.add(key)
    }
    this.#held.push(...live)
    return live.length
  }

  /** Ends some of the worker's executions in flight; before the worker dies, all that are not to be lost with it. */
  async #work(): Promise<void> {
    const { queue, maintenance } = this.#store.s
    const doomed = this.#held.filter(({ jobId, losses }) => losses < this.#scriptOf(jobId).losses)
    const rest = this.#dice.shuffle(this.#held.filter((one) => !doomed.includes(one)))
    const dies = doomed.length > 0 && (rest.length === 0 || this.#dice.chance(0.3))
    const some = dies ? rest : rest.slice(0, this.#dice.between(Math.min(1, rest.length), rest.length))
    if (some.length > 0) await this.#finish(queue, some)
    this.#held = this.#held.filter((one) => !some.includes(one))
    if (!dies) return
    const lease = (await maintenance.watch()).find(({ holderId }) => holderId === this.#workerId)
    assert.notEqual(await maintenance.reclaim(lease!), 'alive')
    this.#held = []
    this.#workerId = null
  }

  async #finish(queue: GraphStore['s']['queue'], some: readonly ClaimedLive[]): Promise<void> {
    const { s } = this.#store
    const cancelled = some.filter(({ jobId }) => this.#scriptOf(jobId).fate === 'cancelled')
    for (const { jobId, executionId } of cancelled) {
      const { tenantId } = this.#byJob.get(jobId)!.track.jobs[0]!
      await s.control.cancel({ tenantId, executionId, message: 'Cancelled by somebody.' })
    }
    const ends = some.map(({ jobId, executionId, fence, attempt }) => {
      const { fate } = this.#scriptOf(jobId)
      const ending =
        fate === 'succeeded' || fate === 'cancelled' ? s.succeeded() : s.died({ outcome: failureOf(fate) })
      return { executionId, fence, attempt, ending }
    })
    const answer = await queue.finishLive(this.#workerId!, ends)
    assert.deepEqual(answer.missing, [])
    assert.deepEqual(new Set(answer.cancelled), new Set(cancelled.map(({ executionId }) => executionId)))
  }

  #scriptOf(jobId: string): NodeScript {
    const { track, nodeIndex } = this.#byJob.get(jobId)!
    return track.script[nodeIndex]!
  }
}

function failureOf(fate: NodeScript['fate']): 'failed' | 'timed_out' {
  assert(fate === 'failed' || fate === 'timed_out', `one that is ${fate} ran`)
  return fate
}

async function untilCalm(loop: { step(): Promise<'more' | 'idle' | number> }): Promise<void> {
  while ((await loop.step()) === 'more');
}
