// L4: calls of one tenant fail at the host that another one calls too.
import assert from 'node:assert/strict'
import test from 'node:test'
import { withTime } from '../processes/fleet.ts'
import { setupScene } from './scene.ts'

const failing = 3_000
/** More than the breaker of the tenant needs to open, and to stay open. */
const failuresMin = 50

test('executions start on time while calls of another tenant fail at the same host', withTime, async (t) => {
  const { evil, assertUnhurt, target } = await setupScene(t)
  const jobId = await evil.createTriggered(target.url('/fails'), {})
  for (let n = 0; n < failing; n += 1_000) await evil.trigger(jobId, 1_000)
  const { calls } = await assertUnhurt(8)
  t.diagnostic(`evil: ${calls['/fails']} failing calls`)
  assert((calls['/fails'] ?? 0) >= failuresMin, `${calls['/fails']} calls failed`)
})
