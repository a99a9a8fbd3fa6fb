// Conformance: steps are shared among tenants and among runs. A small run goes on within a step or two, however many starts
// and ends of large runs were noted before.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { noSchedule } from '../../../src/domain/jobs/job.ts'
import type { NewJob } from '../../../src/ports/jobs.ts'
import type { StoreScenario } from '../stores.ts'
import { type GraphScene, makeGraph } from './graph-scenario.ts'
import { createAfter, toolsOf } from './run-scene.ts'

type Setup = (t: TestContext) => Promise<StoreScenario>

const runsMax = 200
const stepsMax = 100

/** As the loop of runs does it: one look, one step. */
async function stepOnce(s: StoreScenario): Promise<void> {
  await s.runSteps.step(await s.runSteps.findNoted(runsMax, false), toolsOf(s.ids))
}

/** How many steps it takes until this is so. */
async function stepsUntil(s: StoreScenario, isSo: () => Promise<boolean>): Promise<number> {
  for (let steps = 1; steps <= stepsMax; steps++) {
    await stepOnce(s)
    if (await isSo()) return steps
  }
  assert.fail(`not within ${stepsMax} steps`)
}

/** Many starts of a large graph, all noted and none of them made. */
async function startLarge(s: StoreScenario, { nodes = 200, runs = 260 } = {}) {
  const children = Array.from({ length: nodes - 1 }, (_, n) => `c${n}>a`)
  const g = await makeGraph(s, `a ${children.join(' ')}`)
  const runIds: string[] = []
  for (let n = 0; n < runs; n++) runIds.push(await g.trigger('a'))
  return { g, runIds }
}

/** A root and one job behind it, which the root starts. */
async function startSmall(s: StoreScenario, tenantId?: string) {
  const changes: Partial<NewJob> = { overlapPolicy: 'ALLOW', ...(tenantId !== undefined && { tenantId }) }
  const root = await s.createJob({ ...changes, schedule: noSchedule })
  const child = await createAfter(s, [root], changes)
  const runId = s.ids.nextBatch()
  await s.jobs.trigger({ tenantId: root.tenantId, jobId: root.jobId, executionId: runId, lane: 'small' })
  const view = () => s.graphRuns.get(root.tenantId, runId)
  return {
    isMade: async () => (await view()) !== null,
    childGoes: async () =>
      (await view())!.plan.some(({ jobId, state }) => jobId === child.jobId && state === 'going'),
    async endRoot(): Promise<void> {
      const workerId = await s.addWorker()
      const { live } = await s.claim(workerId, 1, 'small')
      assert.deepEqual(
        live.map(({ executionId }) => executionId),
        [runId],
      )
      await s.finishLive(workerId, live[0]!, s.succeeded())
    },
  }
}

/** Ends the roots of the large runs that are made by now: in each of them all other nodes are to go. */
async function endRoots({ s, jobOf, end }: GraphScene, runIds: readonly string[]) {
  for (const runId of runIds) {
    if ((await s.graphRuns.get(jobOf('a').tenantId, runId)) !== null) await end(runId, 'a')
  }
}

export function testRunFairness(name: string, setup: Setup): void {
  for (const { whose, isOther, steps } of [
    { whose: 'another', isOther: true, steps: 1 },
    { whose: 'the same', isOther: false, steps: 2 },
  ]) {
    test(`${name}: a small run of ${whose} tenant starts within ${steps} steps behind 260 starts of a large graph, and its next job starts within ${steps} behind their ends`, async (t) => {
      const s = await setup(t)
      const { g, runIds } = await startLarge(s)
      const small = await startSmall(s, isOther ? await s.addTenant(1) : undefined)
      const made = await stepsUntil(s, small.isMade)
      await endRoots(g, runIds)
      await small.endRoot()
      const went = await stepsUntil(s, small.childGoes)
      t.diagnostic(`it starts after ${made} steps, its next job goes after ${went}`)
      assert(made <= steps && went <= steps, `${made} and ${went} steps`)
    })
  }
}
