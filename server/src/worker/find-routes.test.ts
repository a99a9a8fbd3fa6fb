import assert from 'node:assert/strict'
import test from 'node:test'
import { createRouteFinder } from './find-routes.ts'

test('a worker claims from the routes of its handlers that ask for no label it lacks', async () => {
  const asked: string[][] = []
  const waiting = ['worker t send ', 'worker t send eu', 'worker t send eu,gpu', 'worker t clean gpu']
  const find = createRouteFinder(
    {
      async findWaiting(prefixes) {
        asked.push([...prefixes])
        return waiting
      },
    },
    { tenantId: 't', handlers: ['send', 'clean'], labels: ['eu', 'ssd'] },
  )
  assert.deepEqual(await find(), ['worker t send ', 'worker t send eu'])
  assert.deepEqual(asked, [['worker t send ', 'worker t clean ']])
})
