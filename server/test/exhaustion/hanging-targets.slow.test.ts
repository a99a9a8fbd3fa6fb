// H1: the calls of one tenant hang and hold places of the worker.
import assert from 'node:assert/strict'
import test from 'node:test'
import { until } from '../e2e/api.ts'
import { withTime } from '../processes/fleet.ts'
import { hangingCalls, hangingHosts } from './attacks.ts'
import { setupScene } from './scene.ts'

test('executions start on time while 3,000 calls of another tenant hang for an hour', withTime, async (t) => {
  const { evil, evilTarget, assertUnhurt } = await setupScene(t, { evilHosts: hangingHosts })
  await hangingCalls(evil, evilTarget)
  await until(async () => ((await evilTarget.take()).held >= 400 ? true : null), 'calls hang')
  await assertUnhurt(10)
  const { held } = await evilTarget.take()
  t.diagnostic(`evil: ${held} calls hang`)
  // A quarter of the places.
  assert(held >= 400 && held <= 500, `${held} calls of one tenant hang`)
})
