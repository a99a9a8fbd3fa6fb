// report×reclaim, note×reclaim, timeOut×note, timeOut×report, timeOut×finish, timeOut×cancel, timeOut×claim:
// maintenance ends attempts that nothing else ends, and only them.
import assert from 'node:assert/strict'
import { type AttemptEnd, endAttempt } from '../../src/domain/queue/attempt.ts'
import { epochMs } from '../../src/lib/time/epoch.ts'
import type { TimedOut } from '../../src/ports/maintenance.ts'
import { noteBatched, noteLive, reportBatched, reportLive } from '../../src/postgres/queue/attempts.sql.ts'
import { cancelLiveById } from '../../src/postgres/queue/cancel.sql.ts'
import { timeOutLive } from '../../src/postgres/queue/maintenance.sql.ts'
import { claimWork, finishLive } from '../../src/postgres/queue/queue.sql.ts'
import { lockSilentWorker, reclaimBatches, reclaimLive } from '../../src/postgres/queue/reclaim.sql.ts'
import { allTaken, holdLive, http } from '../conformance/queue/held.ts'
import { notHeld } from '../conformance/scenario.ts'
import { cancel, createAttempt, note, recordsOf, report, testRace } from './attempts-world.ts'
import type { Race } from './sessions.ts'

const reporting = { batch: reportBatched, live: reportLive } as const
const noting = { batch: noteBatched, live: noteLive } as const
const reclaiming = { batch: reclaimBatches, live: reclaimLive } as const
const refused = (executionId: string) => ({ refused: [executionId], cancelled: [] })

for (const place of ['batch', 'live'] as const) {
  testRace(`report×reclaim (${place}): the reclaim waits for a report and finds the rest`, async (race) => {
    const { s, first, second, waiting } = race
    const attempt = await createAttempt(race, place)
    const { workerId, mark } = attempt
    const held = first.holdAfter(reporting[place])
    const ending = report(first, mark, s.succeeded())
    await held.reached
    const reclaimed = second.maintenance.reclaim({ holderId: workerId, beats: 0 })
    await waiting()
    held.resume()
    assert.deepEqual(await ending, allTaken)
    assert.notEqual(await reclaimed, 'alive')
    assert.deepEqual(await recordsOf(race, attempt), [{ attempt: 1, outcome: 'succeeded', workerId }])
  })

  testRace(`reclaim×report (${place}): a report of what was lost is refused`, async (race) => {
    const { s, first, second, waiting } = race
    const attempt = await createAttempt(race, place)
    const { executionId, workerId, mark } = attempt
    const held = first.holdAfter(reclaiming[place])
    const reclaimed = first.maintenance.reclaim({ holderId: workerId, beats: 0 })
    await held.reached
    const ending = report(second, mark, s.succeeded())
    await waiting()
    held.resume()
    assert.notEqual(await reclaimed, 'alive')
    assert.deepEqual(await ending, refused(executionId))
    assert.deepEqual(await recordsOf(race, attempt), [{ attempt: 1, outcome: 'lost', workerId }])
    assert.equal(await s.statusOf(executionId), 'RETRYING')
  })

  testRace(`note×reclaim (${place}): what was noted is lost from where it went`, async (race) => {
    const { s, first, second, waiting } = race
    const attempt = await createAttempt(race, place)
    const { executionId, workerId, mark } = attempt
    const held = first.holdAfter(noting[place])
    const saying = note(first, mark, { checkpoint: { page: 3 } })
    await held.reached
    const reclaimed = second.maintenance.reclaim({ holderId: workerId, beats: 0 })
    await waiting()
    held.resume()
    assert.equal(await saying, 'updated')
    assert.notEqual(await reclaimed, 'alive')
    assert.deepEqual(await recordsOf(race, attempt), [{ attempt: 1, outcome: 'lost', workerId }])
    const { live } = await s.claim(await s.addWorker())
    const next = live.find((one) => one.executionId === executionId)
    assert.deepEqual([next?.attempt, next?.fence, next?.checkpoint], [2, 2, { page: 3 }])
  })
}

testRace('reclaim×note: what is noted of a worker that is being reclaimed is gone', async (race) => {
  const { first, second, waiting } = race
  const { workerId, mark } = await createAttempt(race, 'batch')
  const held = first.holdAfter(lockSilentWorker)
  const reclaimed = first.maintenance.reclaim({ holderId: workerId, beats: 0 })
  await held.reached
  const saying = note(second, mark, { progress: 0.5 })
  await waiting()
  held.resume()
  assert.notEqual(await reclaimed, 'alive')
  assert.equal(await saying, 'gone')
})

/** Settings of a job that allows its attempts a minute of silence, and an hour in all. */
const watched = {
  execution: { ...http, heartbeat_timeout_seconds: 60, total_timeout_seconds: 3_600 },
}

/** Moves one deadline of every execution into the past, and returns the steps that maintenance would then take. */
async function makeOverdue(
  { s, client }: Race,
  column: 'deadline' | 'silent_at' | 'total_deadline',
): Promise<TimedOut[]> {
  await client.query(`UPDATE live SET ${column} = clock_ms() WHERE ${column} IS NOT NULL`)
  return (await s.maintenance.findOverdue(10)).map(({ executionId, attempt, fence, cause }) => {
    const word = { startedAt: null, finishedAt: s.at(600), durationMs: null, httpStatus: null, preview: null }
    const error = { type: 'HEARTBEAT_TIMEOUT', message: 'It was silent.' } as const
    const retryPolicy = { max_retries: 3, backoff: 'FIXED', initial_delay_ms: 0, max_delay_ms: 0 } as const
    const totalDeadline = cause === 'total' ? epochMs(0) : null
    const place = { attempt, losses: 0, retryPolicy, totalDeadline, now: s.at(600), random: 0 }
    const end: AttemptEnd = endAttempt({ ...word, error }, place)
    return { executionId, attempt, fence, end }
  })
}

testRace('timeOut×note: what was timed out first is gone', async (race) => {
  const { first, second, waiting } = race
  const attempt = await createAttempt(race, 'live', watched)
  const ends = await makeOverdue(race, 'silent_at')
  const held = first.holdAfter(timeOutLive)
  const timing = first.maintenance.timeOut(ends)
  await held.reached
  const saying = note(second, attempt.mark)
  await waiting()
  held.resume()
  assert.deepEqual(await timing, [attempt.executionId])
  assert.equal(await saying, 'gone')
})

testRace('note×timeOut: a heartbeat that came in between wins', async (race) => {
  const { s, first, second, waiting } = race
  const attempt = await createAttempt(race, 'live', watched)
  const ends = await makeOverdue(race, 'silent_at')
  assert.equal(ends.length, 1)
  const held = first.holdAfter(noteLive)
  const saying = note(first, attempt.mark)
  await held.reached
  const timing = second.maintenance.timeOut(ends)
  await waiting()
  held.resume()
  assert.equal(await saying, 'updated')
  assert.deepEqual(await timing, [])
  assert.equal(await s.statusOf(attempt.executionId), 'RUNNING')
})

for (const place of ['live', 'awaiting'] as const) {
  testRace(`timeOut×report (${place}): what was timed out first is not what was said`, async (race) => {
    const { s, first, second, waiting } = race
    const attempt = await createAttempt(race, place)
    const { executionId, workerId, token } = attempt
    const ends = await makeOverdue(race, 'deadline')
    const held = first.holdAfter(timeOutLive)
    const timing = first.maintenance.timeOut(ends)
    await held.reached
    const ending = report(second, token, s.succeeded())
    await waiting()
    held.resume()
    assert.deepEqual(await timing, [executionId])
    assert.deepEqual(await ending, refused(executionId))
    assert.deepEqual(await recordsOf(race, attempt), [{ attempt: 1, outcome: 'timed_out', workerId }])
    assert.equal(await s.statusOf(executionId), 'RETRYING')
  })

  // A retry keeps the fence until it is claimed: only its state tells that the attempt is over.
  testRace(`report×timeOut (${place}): what ended first is not timed out`, async (race) => {
    const { s, first, second, waiting } = race
    const attempt = await createAttempt(race, place, watched)
    const { executionId, workerId, token } = attempt
    const ends = await makeOverdue(race, 'deadline')
    await makeOverdue(race, 'total_deadline')
    const held = first.holdAfter(reportLive)
    const ending = report(first, token, s.failedForNow())
    await held.reached
    const timing = second.maintenance.timeOut(ends)
    await waiting()
    held.resume()
    assert.deepEqual(await ending, allTaken)
    assert.deepEqual(await timing, [])
    assert.deepEqual(await recordsOf(race, attempt), [{ attempt: 1, outcome: 'failed', workerId }])
    assert.equal(await s.statusOf(executionId), 'RETRYING')
  })

  testRace(`cancel×timeOut (${place}): what was cancelled meanwhile ends so`, async (race) => {
    const { first, second, waiting } = race
    const attempt = await createAttempt(race, place)
    const { executionId, workerId } = attempt
    const ends = await makeOverdue(race, 'deadline')
    const held = first.holdAfter(cancelLiveById)
    const cancelling = cancel(first, executionId)
    await held.reached
    const timing = second.maintenance.timeOut(ends)
    await waiting()
    held.resume()
    assert.equal(await cancelling, 'cancelling')
    assert.deepEqual(await timing, [executionId])
    assert.deepEqual(await recordsOf(race, attempt), [{ attempt: 1, outcome: 'cancelled', workerId }])
  })
}

testRace('timeOut×finish: our worker finds its attempt on record', async (race) => {
  const { s, first, second, waiting } = race
  const attempt = await createAttempt(race, 'live')
  const { executionId, workerId, mark } = attempt
  const ends = await makeOverdue(race, 'deadline')
  const held = first.holdAfter(timeOutLive)
  const timing = first.maintenance.timeOut(ends)
  await held.reached
  const finishing = attempt.finish(second, s.succeeded())
  await waiting()
  held.resume()
  assert.deepEqual(await timing, [executionId])
  assert.deepEqual(await finishing, notHeld(executionId))
  assert.deepEqual(await second.queue.findOwn(workerId, [mark]), [{ executionId, status: 'recorded' }])
})

testRace('finish×timeOut: what our worker says is awaited meanwhile has a new deadline', async (race) => {
  const { s, first, second, waiting } = race
  const attempt = await createAttempt(race, 'live', watched)
  const ends = await makeOverdue(race, 'silent_at')
  const held = first.holdAfter(finishLive)
  const finishing = attempt.finish(first, s.awaiting())
  await held.reached
  const timing = second.maintenance.timeOut(ends)
  await waiting()
  held.resume()
  await finishing
  assert.deepEqual(await timing, [])
  assert.equal(await s.statusOf(attempt.executionId), 'RUNNING')
})

/** One that waits for its second attempt, the time of all attempts being over. */
async function createLate(race: Race) {
  const { s, client } = race
  const { executionId, workerId, live } = await holdLive(s, watched)
  await s.finishLive(workerId, live, s.failedForNow())
  assert.equal(await s.maintenance.wake(10), 1)
  const ends = await makeOverdue(race, 'total_deadline')
  const order = () => s.claim(workerId)
  return { executionId, workerId, ends, order, client }
}

testRace('claim×timeOut: what is being claimed is not timed out by what was known before', async (race) => {
  const { first, second, waiting } = race
  const { executionId, workerId, ends } = await createLate(race)
  assert.equal(ends.length, 1)
  const held = first.holdAfter(claimWork)
  const lanes = [{ lane: 'shared', count: 5 }]
  const claiming = first.queue.claim({ workerId, routes: ['server'], lanes, hosts: [], batchesMax: 5 })
  await held.reached
  const timing = second.maintenance.timeOut(ends)
  await waiting()
  held.resume()
  const { live } = await claiming
  assert.deepEqual(
    live.map((one) => one.executionId),
    [executionId],
  )
  assert.deepEqual(await timing, [])
})

testRace('timeOut×claim: what is being timed out is not claimed; its end is no attempt', async (race) => {
  const { s, first, second } = race
  const { executionId, ends, order } = await createLate(race)
  const held = first.holdAfter(timeOutLive)
  const timing = first.maintenance.timeOut(ends)
  await held.reached
  assert.deepEqual(await order(), { batches: [], live: [] })
  held.resume()
  assert.deepEqual(await timing, [executionId])
  assert.deepEqual(await order(), { batches: [], live: [] })
  const { status, deadLetter, attempts } = await s.view(executionId)
  assert.deepEqual([status, deadLetter, attempts.length], ['TIMED_OUT', true, 1])
  assert.equal((await second.deadLetters.depth()).count, 1)
})
