import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { cleanUp } from '../../test/cleanup.ts'
import { createVirtualWorld } from '../../test/virtual-world.ts'
import { Loop, type LoopFailure, type Step } from './loop.ts'

function setup(t: TestContext, step: Step) {
  const world = createVirtualWorld()
  const failures: LoopFailure[] = []
  const loop = new Loop(world, {
    name: 'test',
    step,
    idleMs: 1_000,
    onFailure: (failure) => failures.push(failure),
  })
  cleanUp(t, () => loop[Symbol.asyncDispose]())
  return { world, loop, failures }
}

test('an idle step is followed by a wait, a step with more is not', async (t) => {
  const ranAt: number[] = []
  const { world } = setup(t, async () => {
    ranAt.push(world.clock.monotonicMs())
    return ranAt.length === 1 ? 'more' : 'idle'
  })
  await world.advance(2_500)
  assert.deepEqual(ranAt, [0, 0, 1_000, 2_000])
})

test('a wake-up ends the wait', async (t) => {
  const ranAt: number[] = []
  const { world, loop } = setup(t, async () => {
    ranAt.push(world.clock.monotonicMs())
    return 'idle'
  })
  await world.advance(300)
  loop.wake()
  await world.advance(0)
  assert.deepEqual(ranAt, [0, 300])
})

test('a wake-up that comes while the step runs is not lost', async (t) => {
  let runs = 0
  const { world, loop } = setup(t, async (signal) => {
    runs += 1
    await world.timers.wait(100, signal)
    return 'idle'
  })
  await world.advance(50)
  loop.wake()
  await world.advance(100)
  assert.equal(runs, 2)
})

test('a failing step is reported and tried again, later each time and never after more than the limit', async (t) => {
  const { world, failures } = setup(t, async () => {
    throw new Error('away')
  })
  await world.advance(60_000)
  assert(failures.length >= 12 && failures.length <= 25, `${failures.length} tries in a minute`)
  assert(failures[0]!.retryMs >= 375 && failures[0]!.retryMs <= 500)
  assert(failures.every(({ retryMs }) => retryMs <= 5_000))
  assert.equal(failures.at(-1)!.failures, failures.length)
})

test('stopping aborts the running step, waits for it, and may be repeated', async (t) => {
  let ended = false
  const { world, loop, failures } = setup(t, async (signal) => {
    await world.timers.wait(1_000_000, signal)
    ended = true
    throw new Error('stopped on purpose')
  })
  await world.advance(10)
  await loop[Symbol.asyncDispose]()
  assert(ended)
  assert.deepEqual(failures, [])
  await loop[Symbol.asyncDispose]()
})
