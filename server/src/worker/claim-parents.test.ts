// Executions that run after others: the worker claims them with the results of their parents, or not at all.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { setupWorker, shell } from '../../test/worker-scene.ts'
import type { Execution } from '../domain/jobs/job.ts'
import { Unavailable } from '../lib/unavailable.ts'
import type { ExecutorResult, LocalCall } from '../ports/executor.ts'
import type { WorkerDeps } from './worker.ts'

const artifact = { type: 'artifact', artifact_id: 'a', entrypoint: 'a:b', timeout_seconds: 30 } as const

/** A root and two jobs after it: an artifact and a shell command. All end well; the root returns this. */
async function setup(t: TestContext, preview: string) {
  const scene = await setupWorker(t)
  const { createJob, trigger, start, turn, ports, world } = scene
  const calls: LocalCall[] = []
  const executor = {
    async run(call: LocalCall): Promise<ExecutorResult> {
      calls.push(call)
      return { error: null, preview }
    },
  }
  const asked: (readonly string[])[] = []
  const graphRuns: WorkerDeps['graphRuns'] = {
    parentsOf(ids) {
      asked.push(ids)
      return ports.graphRuns.parentsOf(ids)
    },
  }
  const root = await createJob({ execution: artifact })
  const after = (execution: Execution) =>
    createJob({ dependsOn: [{ jobId: root.jobId, on: 'success' }], execution })
  const [child, command] = [await after(artifact), await after(shell)]
  const worker = await start({ executors: { artifact: executor, shell: executor }, graphRuns })
  const runId = await trigger(root)
  const tools = { newExecutionId: () => world.ids.nextBatch(), laneOf: () => 'shared' }
  const step = () => ports.runSteps.step([runId], tools)
  await step()
  await turn(worker)
  await step()
  return { ...scene, worker, calls, asked, graphRuns, root, child, command, runId }
}

const callOf = (calls: readonly LocalCall[], { jobId }: { jobId: string }) =>
  calls.find((call) => call.jobId === jobId)!

test('a bundle gets the results of its parents; for commands and roots they are not read', async (t) => {
  const { worker, turn, calls, asked, root, child, command, runId } = await setup(t, '{"rows":3}')
  assert.deepEqual(asked, [])
  await turn(worker)
  assert.deepEqual(
    calls.map((call) => call.runId),
    [runId, runId, runId],
  )
  const { executionId } = callOf(calls, root)
  const parent = { jobId: root.jobId, jobKey: null, executionId, status: 'SUCCEEDED', result: { rows: 3 } }
  assert.deepEqual(callOf(calls, child).parents, [parent])
  assert.deepEqual([callOf(calls, command).parents, callOf(calls, root).parents], [[], []])
  assert.deepEqual(asked, [[callOf(calls, child).executionId]])
})

test('when the results of parents cannot be read, nothing of the claim runs, and all of it goes back unstarted', async (t) => {
  const { worker, turn, calls, graphRuns, child, attemptsOf } = await setup(t, 'text')
  const { parentsOf } = graphRuns
  graphRuns.parentsOf = async () => {
    throw new Unavailable('the database is away')
  }
  await assert.rejects(worker.claim(), /the database is away/)
  assert.deepEqual([worker.inFlight.size, calls.length], [0, 1])
  graphRuns.parentsOf = parentsOf
  await turn(worker)
  assert.equal(calls.length, 3)
  const { parents, executionId } = callOf(calls, child)
  assert.equal(parents[0]!.result, 'text')
  assert.deepEqual(attemptsOf(executionId), [[1, 'succeeded']])
})
