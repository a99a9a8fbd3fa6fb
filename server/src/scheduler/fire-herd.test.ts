import assert from 'node:assert/strict'
import test from 'node:test'
import { allPartitions, setup } from '../../test/fire-scene.ts'

test('a job that is due again soon stays in memory, also where a herd keeps the window from reaching that far', async () => {
  const { at, world, createEvery, load, fire, dueQueue, window, asked, slotsOf } = await setup()
  const [soon, later] = [await createEvery(30, 601), await createEvery(31, 601)]
  await load()
  window.reload()
  window.begin(at(630), at(660))
  for (const partitionId of allPartitions)
    window.end(partitionId, { dueAt: at(601), jobId: soon.jobId }, false)
  await world.advance(1_000)
  await fire()
  assert.deepEqual([soon, later].map(slotsOf), [[at(601)], [at(601)]])
  assert.deepEqual(
    [soon, later].map(({ jobId }) => dueQueue.has(jobId)),
    [true, false],
  )
  const moves = new Map(asked.at(-1)!.map(({ jobId, move }) => [jobId, move?.slotAt ?? null]))
  assert.deepEqual(
    [soon, later].map(({ jobId }) => moves.get(jobId)),
    [null, at(632)],
  )
})
