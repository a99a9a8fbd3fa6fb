import assert from 'node:assert/strict'
import test from 'node:test'
import { createAfter, inRunOf } from '../../test/conformance/graphs/run-scene.ts'
import { edit } from '../../test/conformance/jobs/changes.ts'
import { setup } from '../../test/fire-scene.ts'

test('a job that becomes a root after it was loaded fires into a run of its graph', async () => {
  const s = await setup()
  const root = await s.createEvery(60, 600)
  await s.load()
  const child = await createAfter(s, [root])
  await s.fire()
  assert.equal((await s.list(root)).total, 0, 'it was planned without its graph')
  await s.takeChanges()
  await s.fire()
  const { executions } = await s.list(root)
  assert.deepEqual(
    executions.map(({ slot, runId }) => [slot, runId]),
    [[s.at(600), inRunOf(s, root, child)(600).runId]],
  )
})

test('roots of the same graph that are due together start one run', async () => {
  const s = await setup()
  const roots = [await s.createEvery(60, 600), await s.createEvery(60, 600)]
  const child = await createAfter(s, roots)
  await s.load()
  await s.fire()
  const runIds = []
  for (const root of roots) runIds.push((await s.list(root)).executions[0]!.runId)
  const { runId } = inRunOf(s, ...roots, child)(600)
  assert.deepEqual(runIds, [runId, runId])
})

test('a job that gets parents is not fired any more', async () => {
  const s = await setup()
  const [parent, job] = [await s.createEvery(60, 630), await s.createEvery(60, 600)]
  await s.load()
  const { tenantId, jobId } = job
  const dependsOn = [{ jobId: parent.jobId, on: 'success' }] as const
  await s.jobs.change({ tenantId, jobId, dependsOn }, edit({ dependsOn }))
  await s.fire()
  await s.takeChanges()
  await s.fire()
  assert.equal((await s.list(job)).total, 0)
  assert.equal(s.dueQueue.has(jobId), false)
})
