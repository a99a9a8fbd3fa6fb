// complete×finish, report×report, note×finish, report×cancel, note×cancel: the report of a target or an SDK worker
// against that of our worker, or against a cancel. In either order, an attempt ends once, and each caller receives the
// result.
import assert from 'node:assert/strict'
import { noteBatched, noteLive, reportBatched, reportLive } from '../../src/postgres/queue/attempts.sql.ts'
import { cancelBatchedById, cancelLiveById } from '../../src/postgres/queue/cancel.sql.ts'
import { finishBatches, finishLive } from '../../src/postgres/queue/queue.sql.ts'
import { allTaken } from '../conformance/queue/held.ts'
import { allHeld, notHeld } from '../conformance/scenario.ts'
import { cancel, createAttempt, note, recordsOf, report, testRace } from './attempts-world.ts'

const reporting = { batch: reportBatched, live: reportLive, awaiting: reportLive } as const
const noting = { batch: noteBatched, live: noteLive } as const
const finishing = { batch: finishBatches, live: finishLive } as const
const flagging = { batch: cancelBatchedById, live: cancelLiveById, awaiting: cancelLiveById } as const

const refused = (executionId: string) => ({ refused: [executionId], cancelled: [] })

for (const place of ['batch', 'live'] as const) {
  testRace(
    `complete×finish (${place}): what was completed first is ours no more, and on record as ours`,
    async (race) => {
      const { s, first, second, waiting } = race
      const attempt = await createAttempt(race, place)
      const { executionId, workerId, token } = attempt
      const held = first.holdAfter(reporting[place])
      const completing = report(first, token, s.succeeded())
      await held.reached
      const answering = attempt.finish(second, s.died())
      await waiting()
      held.resume()
      assert.deepEqual(await completing, allTaken)
      const expected = place === 'batch' ? { ...allHeld, left: [executionId] } : notHeld(executionId)
      assert.deepEqual(await answering, expected)
      if (place === 'batch') {
        const again = { executionId, fence: 1, attempt: 1, ending: s.died() }
        assert.deepEqual(await second.queue.finishLive(workerId, [again]), notHeld(executionId))
      }
      assert.deepEqual(await second.queue.findOwn(workerId, [token]), [{ executionId, status: 'recorded' }])
      assert.deepEqual(await recordsOf(race, attempt), [{ attempt: 1, outcome: 'succeeded', workerId }])
    },
  )

  testRace(
    `finish×complete (${place}): what our worker ended in the same way is completed, in another refused`,
    async (race) => {
      const { s, first, second, waiting } = race
      const attempt = await createAttempt(race, place)
      const { executionId, workerId, token } = attempt
      const held = first.holdAfter(finishing[place])
      const answering = attempt.finish(first, s.succeeded())
      await held.reached
      const completing = report(second, token, s.succeeded())
      await waiting()
      held.resume()
      assert.deepEqual(await answering, allHeld)
      assert.deepEqual(await completing, allTaken)
      assert.deepEqual(await report(second, token, s.died()), refused(executionId))
      assert.deepEqual(await recordsOf(race, attempt), [{ attempt: 1, outcome: 'succeeded', workerId }])
    },
  )

  testRace(
    `finish×complete (${place}): what our worker says is awaited is completed, with its name`,
    async (race) => {
      const { s, first, second, waiting } = race
      const attempt = await createAttempt(race, place)
      const { workerId, token } = attempt
      const held = first.holdAfter(finishing[place])
      const answering = attempt.finish(first, s.awaiting())
      await held.reached
      const completing = report(second, token, s.succeeded())
      await waiting()
      held.resume()
      assert.deepEqual(await answering, allHeld)
      assert.deepEqual(await completing, allTaken)
      assert.deepEqual(await recordsOf(race, attempt), [{ attempt: 1, outcome: 'succeeded', workerId }])
    },
  )

  testRace(`note×finish (${place}): what was noted ends under fence 1`, async (race) => {
    const { s, first, second, waiting } = race
    const attempt = await createAttempt(race, place)
    const { executionId, workerId, mark } = attempt
    const held = first.holdAfter(noting[place])
    const saying = note(first, mark, { progress: 0.5 })
    await held.reached
    const answering = attempt.finish(second, s.succeeded())
    await waiting()
    held.resume()
    assert.equal(await saying, 'updated')
    assert.deepEqual(await answering, { ...allHeld, left: place === 'batch' ? [executionId] : [] })
    if (place === 'batch') {
      const again = { executionId, fence: 1, attempt: 1, ending: s.succeeded() }
      assert.deepEqual(await second.queue.finishLive(workerId, [again]), allHeld)
    }
    assert.deepEqual(await recordsOf(race, attempt), [{ attempt: 1, outcome: 'succeeded', workerId }])
  })

  testRace(`finish×note (${place}): what has ended is gone`, async (race) => {
    const { s, first, second, waiting } = race
    const attempt = await createAttempt(race, place)
    const held = first.holdAfter(finishing[place])
    const answering = attempt.finish(first, s.failedForNow())
    await held.reached
    const saying = note(second, attempt.mark, { progress: 0.5 })
    await waiting()
    held.resume()
    assert.deepEqual(await answering, allHeld)
    assert.equal(await saying, 'gone')
    assert.equal((await s.view(attempt.executionId)).progress, null)
  })

  testRace(`cancel×note (${place}): who speaks of a cancelled attempt hears of it`, async (race) => {
    const { s, first, second, waiting } = race
    const attempt = await createAttempt(race, place)
    const { executionId, mark } = attempt
    const held = first.holdAfter(flagging[place])
    const cancelling = cancel(first, executionId)
    await held.reached
    const saying = note(second, mark, { checkpoint: 7 })
    await waiting()
    held.resume()
    assert.equal(await cancelling, 'cancelling')
    assert.equal(await saying, 'cancelled')
    assert.deepEqual(await report(second, mark, s.succeeded()), { refused: [], cancelled: [executionId] })
  })
}

testRace('finish×note: what our worker says goes on is noted where it went', async (race) => {
  const { s, first, second, waiting } = race
  const attempt = await createAttempt(race, 'batch')
  const held = first.holdAfter(finishBatches)
  const answering = attempt.finish(first, s.running())
  await held.reached
  const saying = note(second, attempt.mark, { progress: 0.5 })
  await waiting()
  held.resume()
  assert.deepEqual(await answering, allHeld)
  assert.equal(await saying, 'updated')
  assert.equal((await s.view(attempt.executionId)).progress?.fraction, 0.5)
})

testRace('complete×finish: a batch that others have emptied is missing', async (race) => {
  const { s, first, second, waiting } = race
  const attempt = await createAttempt(race, 'batch')
  const { executionId, workerId, token } = attempt
  const sibling = executionId.slice(0, 34).concat('01')
  await report(first, { ...token, executionId: sibling }, s.succeeded())
  const held = first.holdAfter(reportBatched)
  const completing = report(first, token, s.succeeded())
  await held.reached
  const answering = attempt.finish(second, s.succeeded())
  await waiting()
  held.resume()
  assert.deepEqual(await completing, allTaken)
  assert.deepEqual(await answering, notHeld(executionId))
  assert.deepEqual(await recordsOf(race, attempt), [{ attempt: 1, outcome: 'succeeded', workerId }])
})

for (const place of ['batch', 'live', 'awaiting'] as const) {
  testRace(`report×report (${place}): the same word twice counts once`, async (race) => {
    const { s, first, second, waiting } = race
    const attempt = await createAttempt(race, place)
    const { token } = attempt
    const held = first.holdAfter(reporting[place])
    const once = report(first, token, s.failedForNow())
    await held.reached
    const twice = report(second, token, s.failedForNow())
    await waiting()
    held.resume()
    assert.deepEqual([await once, await twice], [allTaken, allTaken])
    assert.equal((await recordsOf(race, attempt)).length, 1)
    assert.equal(await s.statusOf(attempt.executionId), 'RETRYING')
  })

  testRace(`report×cancel (${place}): what ended first is not cancelled`, async (race) => {
    const { s, first, second, waiting } = race
    const attempt = await createAttempt(race, place)
    const held = first.holdAfter(reporting[place])
    const completing = report(first, attempt.token, s.succeeded())
    await held.reached
    const cancelling = cancel(second, attempt.executionId)
    await waiting()
    held.resume()
    assert.deepEqual(await completing, allTaken)
    assert.equal(await cancelling, 'finished')
    assert.equal(await s.statusOf(attempt.executionId), 'SUCCEEDED')
  })

  testRace(`cancel×report (${place}): what was cancelled first ends so`, async (race) => {
    const { s, first, second, waiting } = race
    const attempt = await createAttempt(race, place)
    const { executionId, workerId, token } = attempt
    const held = first.holdAfter(flagging[place])
    const cancelling = cancel(first, executionId)
    await held.reached
    const completing = report(second, token, s.succeeded())
    await waiting()
    held.resume()
    assert.equal(await cancelling, 'cancelling')
    assert.deepEqual(await completing, { refused: [], cancelled: [executionId] })
    assert.deepEqual(await recordsOf(race, attempt), [{ attempt: 1, outcome: 'cancelled', workerId }])
  })
}

testRace('note×report: what is being noted is reported where it went', async (race) => {
  const { s, first, second, waiting } = race
  const attempt = await createAttempt(race, 'batch')
  const { mark } = attempt
  const held = first.holdAfter(noteBatched)
  const saying = note(first, mark)
  await held.reached
  const ending = report(second, mark, s.succeeded())
  await waiting()
  held.resume()
  assert.deepEqual([await saying, await ending], ['updated', allTaken])
})
