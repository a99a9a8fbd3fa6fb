// A scheduler that fires over the memory store, for tests of firing.
import { partitionsCount } from '../src/domain/jobs/job.ts'
import { LaneChooser } from '../src/domain/queue/lane.ts'
import type { EpochMs } from '../src/lib/time/epoch.ts'
import type { DirectDispatch } from '../src/ports/direct-dispatch.ts'
import type { NewJob } from '../src/ports/jobs.ts'
import type { FireAnswer, Slots, SlotToFire } from '../src/ports/slots.ts'
import { SlotCharger } from '../src/scheduler/charge-slots.ts'
import { DueQueue } from '../src/scheduler/due-queue.ts'
import { fillWindow, takeChanges } from '../src/scheduler/fill-window.ts'
import { fireDue } from '../src/scheduler/fire-due.ts'
import { LoadWindow } from '../src/scheduler/load-window.ts'
import { OutageDetector } from '../src/scheduler/outage-detector.ts'
import { openMemoryStore } from '../testing/memory-store/open-memory-store.ts'
import { createScenario } from './conformance/scenario.ts'
import { createVirtualWorld } from './virtual-world.ts'

export const allPartitions = Array.from({ length: partitionsCount }, (_, id) => id)
type Fire = (real: Slots['fire'], slots: readonly SlotToFire[]) => Promise<FireAnswer[]>

/** A scheduler that holds everything. `at(600)` of the scenario is now. */
export async function setup() {
  const world = createVirtualWorld()
  const { store, ...ports } = openMemoryStore(world.clock)
  const scenario = await createScenario({
    ...ports,
    ids: world.ids,
    now: async () => world.clock.databaseNow(),
  })
  const dueQueue = new DueQueue()
  const window = new LoadWindow()
  window.hold(allPartitions)
  /** The callbacks, in order. */
  const calls: string[] = []
  /** For each commit that enqueued executions: whether some of them were in the shared lane. */
  const shared: boolean[] = []
  const real = ports.slots.fire.bind(ports.slots)
  const asked: SlotToFire[][] = []
  /** Stands in for the next fire only. */
  let next: Fire | null = null
  const slots: Slots = {
    load: (request) => ports.slots.load(request),
    takeChanges: (ids, limit) => ports.slots.takeChanges(ids, limit),
    fire(items) {
      asked.push([...items])
      const fire = next
      next = null
      return fire === null ? real(items) : fire(real, items)
    },
    fireAndClaim(items, worker) {
      asked.push([...items])
      return ports.slots.fireAndClaim(items, worker)
    },
  }
  const loadDeps = { clock: world.clock, slots, dueQueue, window, onPut() {}, onReload() {} }
  const load = () => fillWindow(loadDeps)
  const deps = {
    ...{
      clock: world.clock,
      ids: world.ids,
      slots,
      dueQueue,
      window,
      lanes: new LaneChooser(),
      outages: new OutageDetector(),
      smallTenants: { firedSinceMs: null },
      charger: new SlotCharger({ ...ports, clock: world.clock }),
      directDispatch: null as DirectDispatch | null,
    },
    onEnqueued: (isShared: boolean) => {
      calls.push('enqueued')
      shared.push(isShared)
    },
    onOwed: () => void calls.push('owed'),
  }
  const fire = () => fireDue(deps, { misfireAfterMs: 60_000 })
  return {
    ...scenario,
    ...{
      world,
      store,
      dueQueue,
      window,
      calls,
      shared,
      asked,
      load,
      fire,
      takeChanges: () => takeChanges(loadDeps),
    },
    fireOnceBy(by: Fire) {
      next = by
    },
    setDirectDispatch(directDispatch: DirectDispatch) {
      deps.directDispatch = directDispatch
    },
    /** Stands in for every fire that claims on insert. */
    fireAndClaimBy(by: Slots['fireAndClaim']) {
      slots.fireAndClaim = by
    },
    /** A job that has its own interval: the first slot at a second of the scenario. */
    createEvery: (everySeconds: number, firstSecond: number, changes: Partial<NewJob> = {}) =>
      scenario.createJob({
        schedule: { type: 'INTERVAL', every_seconds: everySeconds },
        anchorAt: scenario.at(firstSecond - everySeconds),
        slotAt: scenario.at(firstSecond),
        ...changes,
      }),
    slotsOf: ({ jobId }: NewJob): EpochMs[] => [...store.jobs.get(jobId)!.slots.keys()],
  }
}
