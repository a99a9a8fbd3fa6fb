// Long calls are spread over the servers that have room: the loss of one of three does not hit all of them.
import assert from 'node:assert/strict'
import test from 'node:test'
import { withTime } from './fleet.ts'
import { setupLongCalls } from './long-calls.ts'

/** Of twelve calls, on one of three servers. */
const heldMax = 6
const rounds = 3

test(
  'of twelve long calls no server of three holds more than half, triggered or due at once',
  withTime,
  async (t) => {
    const scene = await setupLongCalls(t)
    const create = {
      'triggers at once': () => scene.trigger({ inTurn: false }),
      'triggers in turn': () => scene.trigger({ inTurn: true }),
      'cron slots of one second': () => scene.createDue(),
    }
    for (let round = 1; round <= rounds; round++) {
      for (const [name, send] of Object.entries(create)) {
        await send()
        const held = await scene.countHeld()
        assert(held[0]! <= heldMax, `${name}, round ${round}: ${held.join(', ')}`)
        await scene.end()
      }
    }
  },
)
