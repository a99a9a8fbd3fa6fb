// H4: targets of one tenant send interim heads, or the extension of a chunk, without end.
import assert from 'node:assert/strict'
import test from 'node:test'
import { withTime } from '../processes/fleet.ts'
import { endlessAnswers, endlessHosts } from './attacks.ts'
import { setupScene } from './scene.ts'

const callsMin = 200
const bytesMin = 5_000_000

test('executions start on time while targets of another tenant answer without end', withTime, async (t) => {
  const { evil, evilTarget, assertUnhurt } = await setupScene(t, { evilHosts: endlessHosts })
  await endlessAnswers(evil, evilTarget)
  await assertUnhurt(8)
  const { calls, hostileBytes } = await evilTarget.take()
  const called = (calls['/interim'] ?? 0) + (calls['/extension'] ?? 0)
  t.diagnostic(`evil: ${called} calls, ${hostileBytes} bytes`)
  assert(called >= callsMin, `${called} calls were answered without end`)
  assert(hostileBytes >= bytesMin, `${hostileBytes} bytes were sent`)
})
