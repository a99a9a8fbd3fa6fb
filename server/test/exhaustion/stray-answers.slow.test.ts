// M1: an origin that two tenants call sends more answers on a connection of one tenant, in time for a call of the other.
import assert from 'node:assert/strict'
import test from 'node:test'
import { realTimers } from '../../src/lib/time/timers.ts'
import { cleanUp } from '../cleanup.ts'
import { withTime } from '../processes/fleet.ts'
import { startLoops } from './loops.ts'
import { setupScene } from './scene.ts'

const callsAtOnce = 20
const forgedMin = 20

test(
  'results stay genuine while calls of another tenant at the same origin get stray answers',
  withTime,
  async (t) => {
    const { evil, target, assertUnhurt } = await setupScene(t, { victimPath: '/victim-slow' })
    const jobId = await evil.createTriggered(target.url('/stray'))
    const triggering = startLoops(1, async () => {
      await evil.trigger(jobId, callsAtOnce)
      await realTimers.wait(150)
    })
    cleanUp(t, () => triggering[Symbol.asyncDispose]())
    const { forged } = await assertUnhurt(8)
    t.diagnostic(`evil: ${forged} stray answers`)
    assert(forged >= forgedMin, `${forged} stray answers were sent`)
  },
)
