// The common steps of the suites about the start of runs: a root with a job that runs after it, and the loop of runs.
import assert from 'node:assert/strict'
import { runIdOfSlot } from '../../../src/domain/graphs/graph-run.ts'
import { noSchedule } from '../../../src/domain/jobs/job.ts'
import { executionIdAt } from '../../../src/domain/queue/execution.ts'
import { sharedLane } from '../../../src/domain/queue/lane.ts'
import type { Ids } from '../../../src/ports/ids.ts'
import type { NewJob } from '../../../src/ports/jobs.ts'
import type { SlotToFire } from '../../../src/ports/slots.ts'
import type { Scenario } from '../scenario.ts'

/** One that runs after others. */
export function createAfter(
  s: Pick<Scenario, 'createJob'>,
  parents: readonly NewJob[],
  changes: Partial<NewJob> = {},
): Promise<NewJob> {
  const dependsOn = parents.map(({ jobId }) => ({ jobId, on: 'success' }) as const)
  return s.createJob({ name: 'after', schedule: noSchedule, slotAt: null, dependsOn, ...changes })
}

/** A root, a job that runs after it, and the graph data that a fire of the root carries. */
export async function createPair(s: Pick<Scenario, 'createJob' | 'at'>, changes: Partial<NewJob> = {}) {
  const root = await s.createJob(changes)
  const child = await createAfter(s, [root])
  return { root, child, inRun: inRunOf(s, root, child) }
}

/** The graph data that a fire of a root of these jobs carries. */
export function inRunOf(s: Pick<Scenario, 'at'>, ...members: readonly NewJob[]) {
  const [graphId] = members.map(({ jobId }) => jobId).toSorted()
  return (second: number, changes: Partial<SlotToFire> = {}): Partial<SlotToFire> => ({
    graphId: graphId!,
    runId: runIdOfSlot(graphId!, s.at(second)),
    ...changes,
  })
}

export const toolsOf = (ids: Ids) => ({
  newExecutionId: () => executionIdAt(ids.nextBatch(), 0),
  laneOf: () => sharedLane,
})

/** Advances all noted runs as far as they go. */
export async function stepRuns(s: Pick<Scenario, 'runSteps' | 'ids'>, unfired = false): Promise<void> {
  let runIds = await s.runSteps.findNoted(100, unfired)
  for (let pages = 0; runIds.length > 0; pages++) {
    assert(pages < 50, 'there is always something noted')
    await s.runSteps.step(runIds, toolsOf(s.ids))
    runIds = await s.runSteps.findNoted(100, false)
  }
}

/** Runs the executions that can be claimed, and lets the runs process their ends. */
export async function runOn(s: Pick<Scenario, 'runAll' | 'runSteps' | 'ids'>): Promise<void> {
  await s.runAll()
  await stepRuns(s)
}
