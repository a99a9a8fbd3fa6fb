// Conformance: a resumed run and a younger run of the same graph never wait for each other. A resumed root waits for
// executions of its job, as every other part of an open run does, and not for the end of younger runs.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { waitingMax } from '../../../src/domain/queue/release.ts'
import type { NewJob } from '../../../src/ports/jobs.ts'
import type { SlotToFire } from '../../../src/ports/slots.ts'
import { edit } from '../jobs/changes.ts'
import type { StoreScenario } from '../stores.ts'
import { type GraphScene, makeGraph } from './graph-scenario.ts'

type Setup = (t: TestContext) => Promise<StoreScenario>

const concurrencyKey = { key: 'shared', limit: 1 }

/** Lets go all that may go of both roots, and claims it; the names of everything that runs now. */
async function release({ s, jobOf, running }: GraphScene): Promise<string[]> {
  await s.release(jobOf('a'), jobOf('b'))
  return running()
}

/**
 * Run `older` was resumed and its root a waits for the concurrency key, which an execution of another job holds. The slot
 * of run `younger` came meanwhile: both roots of it wait.
 */
async function resumeBehindKey(s: StoreScenario, ofA: Partial<NewJob>, whileWaiting?: Partial<NewJob>) {
  const g = await makeGraph(s, 'a b c>a,b', {
    a: { concurrencyKey, ...ofA },
    b: { overlapPolicy: 'BUFFER_ALL' },
  })
  // A slot of a job with a concurrency key waits to be counted.
  const older = await buffer(g, 'a', 0)
  assert.equal(await g.fire('b', 0), older)
  await g.step()
  assert.deepEqual(await release(g), ['a', 'b'])
  await g.finish(older, 'b')
  assert.deepEqual((await g.finish(older, 'a', 'failed')).over, ['FAILED'])

  const holder = await s.createJob({ overlapPolicy: 'ALLOW', concurrencyKey })
  await s.trigger(holder)
  assert.equal((await s.release(holder)).ready, 1)
  const workerId = await s.addWorker()
  const held = await s.claimLive(workerId)
  assert.equal(held.jobId, holder.jobId)

  assert.equal((await g.resume(older)).kind, 'resumed')
  if (whileWaiting !== undefined) await g.edit('a', edit(whileWaiting))
  const younger = await buffer(g, 'a', 1)
  assert.equal(await buffer(g, 'b', 1), younger)
  await g.step()
  assert.deepEqual(await release(g), [], 'the key is held')
  await s.finishLive(workerId, held, s.succeeded())
  return { g, older, younger }
}

/** Fires a slot that waits; the id of its run. */
async function buffer({ s, jobOf, slotOf }: GraphScene, name: string, second: number): Promise<string> {
  const { tenantId, jobId } = jobOf(name)
  const { version, priority } = (await s.jobs.get(tenantId, jobId))!
  const item = await slotOf(name, second, { version, priority })
  assert.deepEqual(
    (await s.slots.fire([item])).map(({ answer }) => answer),
    ['buffered'],
  )
  return item.runId!
}

export function testRunDeadlock(name: string, setup: Setup): void {
  const overtakes: [string, Partial<NewJob>, Partial<NewJob>?][] = [
    ['whose slots go before repeats', { overlapPolicy: 'CANCEL_RUNNING' }],
    ['that was given more priority meanwhile', { overlapPolicy: 'BUFFER_ALL', priority: 9 }, { priority: 1 }],
  ]
  for (const [how, ofA, whileWaiting] of overtakes) {
    test(`${name}: a resumed root ${how} does not wait for the younger run that overtook it, which waits for the resumed run`, async (t) => {
      const { g, older, younger } = await resumeBehindKey(await setup(t), ofA, whileWaiting)
      assert.deepEqual(await release(g), ['a'])
      await g.claim(younger, 'a')
      assert.deepEqual(await release(g), ['a'], 'one execution of a at a time')
      await g.finish(younger, 'a')
      // Run `younger` is under way for a and waits for the end of run `older` with b.
      assert.deepEqual(await release(g), ['a'])
      await g.claim(older, 'a')
      await g.finish(older, 'a')
      assert.deepEqual(await release(g), ['c'], 'b waits until the whole resumed run has ended')
      assert.deepEqual((await g.finish(older, 'c')).over, ['SUCCEEDED'])
      assert.deepEqual(await release(g), ['b'])
      await g.finish(younger, 'b')
      assert.deepEqual((await g.finish(younger, 'c')).over, ['SUCCEEDED'])
    })
  }

  test(`${name}: a resumed root that waits is found behind more executions than one release looks at`, async (t) => {
    const { g, older, younger } = await resumeBehindKey(await setup(t), { overlapPolicy: 'CANCEL_RUNNING' })
    assert.deepEqual(await release(g), ['a'])
    await g.finish(younger, 'a')
    await g.edit('a', edit({ priority: 1 }))
    for (let n = 0; n <= waitingMax; n++) await g.trigger('a')
    assert.deepEqual(await release(g), ['a'])
    await g.claim(older, 'a')
  })

  test(`${name}: a run is not resumed while a younger run has one root ended and the other waiting`, async (t) => {
    const s = await setup(t)
    const buffered = { overlapPolicy: 'BUFFER_ALL' } as const
    const g = await makeGraph(s, 'a b c>a,b', { a: buffered, b: buffered })
    const older = await g.fire('a', 0)
    await g.fire('b', 0)
    await g.step()
    await g.finish(older, 'a')
    await g.finish(older, 'b', 'failed')
    const younger = await g.fire('a', 1)
    await g.step()
    await g.finish(younger, 'a')
    // An execution that runs alone, so that root b of run `younger` waits.
    const again = { tenantId: g.jobOf('b').tenantId, executionId: await g.executionOf(older, 'b') }
    await s.control.retry({ ...again, newExecutionId: s.ids.nextBatch(), lane: 'shared' })
    assert.equal(await buffer(g, 'b', 1), younger)
    await g.step()
    const overlap = { kind: 'overlap', jobId: g.jobOf('a').jobId, runId: younger, executionId: null }
    assert.deepEqual(await g.resume(older), overlap)
  })

  for (const isMade of [false, true]) {
    test(`${name}: a slot that was owed while overlaps were allowed${isMade ? ', and waits by now,' : ''} does not wait for the younger run that overtook it`, async (t) => {
      const s = await setup(t)
      const g = await makeGraph(s, 'a b c>a,b', {
        // Limited, an owed slot becomes an execution that waits.
        a: isMade ? { concurrencyLimit: 1 } : {},
        b: { overlapPolicy: 'BUFFER_ALL' },
      })
      const fireA = async (second: number, changes: Partial<SlotToFire> = {}) => {
        const item = await g.slotOf('a', second, changes)
        const answers = (await s.slots.fire([item])).map(({ answer }) => answer)
        assert.deepEqual(answers, isMade ? ['buffered'] : [])
        return item.runId!
      }
      const first = await fireA(0, { late: true, owedTo: s.at(1) })
      await g.fire('b', 0)
      const younger = await fireA(2)
      await g.step()
      if (isMade) assert.equal((await s.release(g.jobOf('a'))).ready, 1)
      for (const job of ['a', 'b', 'c']) await g.finish(first, job)
      const older = await g.fire('b', 1)
      assert.equal(await buffer(g, 'b', 2), younger)
      if (isMade) assert.equal((await s.release(g.jobOf('a'))).ready, 1)
      await g.step()
      await g.edit('a', edit({ overlapPolicy: 'BUFFER_ALL', concurrencyLimit: null }))
      await g.finish(younger, 'a')
      await g.finish(older, 'b')
      // Run `younger` waits for b, b waits for the end of run `older`, and run `older` waits for a.
      assert.deepEqual(await release(g), ['a'])
      await g.step()
      await g.finish(older, 'a')
      assert.deepEqual((await g.finish(older, 'c')).over, ['SUCCEEDED'])
      assert.deepEqual(await release(g), ['b'])
      await g.finish(younger, 'b')
      assert.deepEqual((await g.finish(younger, 'c')).over, ['SUCCEEDED'])
    })
  }
}
