// M6: a free tenant makes 30,000 calls at one host with 30 requests.
import assert from 'node:assert/strict'
import test from 'node:test'
import { withTime } from '../processes/fleet.ts'
import { floodsOf } from './attacks.ts'
import { setupScene } from './scene.ts'

const requests = 30
const seconds = 8
/** Calls a second at one host, as the tier free allows them. */
const perSecondMax = 50
/** A rate allows two seconds' worth of calls at once. */
const burstSeconds = 2

test(
  'executions start on time, and one host is not flooded, while another tenant triggers 30,000',
  withTime,
  async (t) => {
    const { evil, evilTarget, assertUnhurt } = await setupScene(t)
    await floodsOf(evil, evilTarget.url('/counted'), requests)
    await evilTarget.take()
    await assertUnhurt(seconds)
    const { calls } = await evilTarget.take()
    const called = calls['/counted'] ?? 0
    t.diagnostic(`evil: ${called} calls`)
    assert(called >= perSecondMax, `${called} calls came`)
    // The window is followed by the ends of its last executions.
    assert(called <= perSecondMax * (seconds + 5 + burstSeconds), `${called} calls came in ${seconds} s`)
  },
)
