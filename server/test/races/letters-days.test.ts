// redrive×redrive, redrive×discard: a letter is taken once. makeDay×makeDay, and writes that meet a missing day.
import assert from 'node:assert/strict'
import test from 'node:test'
import { sharedLane } from '../../src/domain/queue/lane.ts'
import { defaultTenantId as tenantId } from '../../src/domain/tenants/tenant.ts'
import type { ClaimedBatch } from '../../src/ports/queue.ts'
import { makeDay, makeToday } from '../../src/postgres/connection/daily-partitions.sql.ts'
import { discardDeadLetter, takeDeadLetters } from '../../src/postgres/history/dead-letters.sql.ts'
import { insertRepeats } from '../../src/postgres/queue/control.sql.ts'
import { fireSlots } from '../../src/postgres/scheduling/fire-slots.sql.ts'
import { allHeld } from '../conformance/scenario.ts'
import { POSTGRES_VERSIONS } from '../database.ts'
import { assertWhole, placesOf } from './invariants.ts'
import { createRace, hammer, type Race, type Session } from './sessions.ts'

async function addLetters({ s }: Race, count: number): Promise<string[]> {
  const ids: string[] = []
  const workerId = await s.addWorker()
  for (let i = 0; i < count; i++) {
    ids.push(await s.fire(await s.createJob(), i))
    await s.finishBatch(workerId, await s.claimBatch(workerId), s.died())
  }
  return ids
}

function redrive({ deadLetters, ids }: Session, letters: readonly string[]) {
  const each = letters.map((executionId) => ({ executionId, newExecutionId: ids.next(), lane: sharedLane }))
  return deadLetters.redrive({ tenantId, letters: each })
}

for (const version of POSTGRES_VERSIONS) {
  for (const statement of [takeDeadLetters, insertRepeats]) {
    test(`PostgreSQL ${version}: redrive×redrive: a letter becomes one execution (held after ${statement.name})`, async (t) => {
      const race = await createRace(t, version)
      const { client, first, second, waiting } = race
      const letters = await addLetters(race, 3)
      const held = first.holdAfter(statement)
      const once = redrive(first, letters.slice(0, 2))
      await held.reached
      const twice = redrive(second, letters)
      await waiting()
      held.resume()
      assert.deepEqual(
        (await once).redriven.map(({ executionId }) => executionId),
        letters.slice(0, 2),
      )
      assert.deepEqual(
        (await twice).redriven.map(({ executionId }) => executionId),
        letters.slice(2),
      )
      const places = Object.values(await placesOf(client)).toSorted()
      assert.deepEqual(places, ['final', 'final', 'final', 'waiting', 'waiting', 'waiting'])
      await assertWhole(client)
    })
  }

  test(`PostgreSQL ${version}: redrive×discard: a letter that is being redriven is not there to discard`, async (t) => {
    const race = await createRace(t, version)
    const { client, first, second, waiting } = race
    const [letter] = (await addLetters(race, 1)) as [string]
    const held = first.holdAfter(takeDeadLetters)
    const redriving = redrive(first, [letter])
    await held.reached
    const discarding = second.deadLetters.discard(tenantId, letter)
    await waiting()
    held.resume()
    assert.equal((await redriving).redriven.length, 1)
    assert.equal(await discarding, 'not_found')
    await assertWhole(client)
  })

  test(`PostgreSQL ${version}: discard×redrive: a letter that is being discarded is not there to redrive`, async (t) => {
    const race = await createRace(t, version)
    const { client, first, second, waiting } = race
    const [letter] = (await addLetters(race, 1)) as [string]
    const held = first.holdAfter(discardDeadLetter)
    const discarding = first.deadLetters.discard(tenantId, letter)
    await held.reached
    const redriving = redrive(second, [letter])
    await waiting()
    held.resume()
    assert.equal(await discarding, 'discarded')
    assert.deepEqual((await redriving).redriven, [])
    assert.deepEqual(Object.values(await placesOf(client)), ['final'])
    await assertWhole(client)
  })

  test(`PostgreSQL ${version}: makeDay×makeDay: one makes it, the other waits and finds it`, async (t) => {
    const { first, second, waiting } = await createRace(t, version)
    const held = first.holdAfter(makeDay)
    const making = first.database.query(makeDay, ['attempts', '2020-02-29'])
    await held.reached
    const other = second.database.query(makeDay, ['attempts', '2020-02-29'])
    await waiting()
    held.resume()
    assert.deepEqual((await making).rows, [{ made: true }])
    assert.deepEqual((await other).rows, [{ made: false }])
  })

  test(`PostgreSQL ${version}: writes of other days go on while a day is being made`, async (t) => {
    const race = await createRace(t, version)
    const { s, client, first } = race
    const held = first.holdAfter(makeDay)
    const making = first.database.query(makeDay, ['attempts', '2020-02-29'])
    await held.reached
    await s.fire(await s.createJob(), 0)
    await s.runAll()
    await assertWhole(client)
    held.resume()
    await making
  })

  test(`PostgreSQL ${version}: finishes that meet a missing day while another makes it are recorded once`, async (t) => {
    const race = await createRace(t, version)
    const { s, client, first, second, waiting } = race
    const workerId = await s.addWorker()
    const batches: ClaimedBatch[] = []
    for (let i = 0; i < 2; i++) {
      await s.fire(await s.createJob(), i)
      batches.push(await s.claimBatch(workerId))
    }
    const { rows } = await client.query<{ name: string }>(
      `SELECT inhrelid::regclass::text AS name FROM pg_inherits WHERE inhparent = 'attempts'::regclass`,
    )
    for (const { name } of rows) await client.query(`DROP TABLE ${name}`)
    const finish = ({ queue }: Session, { batchId, fence }: ClaimedBatch) =>
      queue.finishBatches(workerId, [{ batchId, fence, endings: [{ position: 0, ending: s.succeeded() }] }])
    const held = first.holdAfter(makeToday)
    const one = finish(first, batches[0]!)
    await held.reached
    const other = finish(second, batches[1]!)
    await waiting()
    held.resume()
    assert.deepEqual(await Promise.all([one, other]), [allHeld, allHeld])
    assert.deepEqual(Object.values(await placesOf(client)), ['final', 'final'])
    await assertWhole(client)
  })

  test(`PostgreSQL ${version}: a fire that meets a missing day fires all of its slots, once`, async (t) => {
    const race = await createRace(t, version)
    const { s, client, first, second } = race
    const jobs = [await s.createJob(), await s.createJob()]
    const days = 86_400
    const late = jobs.map((job, i) => s.slotOf(job, -i * 9 * days, { late: true }))
    const held = first.holdBefore(fireSlots)
    const firing = first.slots.fire(late)
    await held.reached
    const others = jobs.map((job, i) => s.slotOf(job, -i * 9 * days, { late: true }))
    assert.deepEqual(
      (await second.slots.fire(others)).map(({ answer }) => answer),
      ['busy', 'busy'],
    )
    held.resume()
    assert.deepEqual(await firing, [])
    assert.deepEqual(
      (await second.slots.fire(others)).map(({ answer }) => answer),
      ['already_recorded', 'already_recorded'],
    )
    assert.equal(Object.keys(await placesOf(client)).length, 2)
    await assertWhole(client)
  })
}

test('a letter that one redrive names twice becomes one execution', async (t) => {
  const race = await createRace(t)
  const [letter] = (await addLetters(race, 1)) as [string]
  assert.equal((await redrive(race.first, [letter, letter])).redriven.length, 1)
  await assertWhole(race.client)
})

test('the same dead letters can be redriven and discarded by many people at once', async (t) => {
  const race = await createRace(t)
  const { client, first, second } = race
  const letters = await addLetters(race, 60)
  const some = () => letters.filter(() => Math.random() < 0.3).toSorted(() => Math.random() - 0.5)
  const errors = await hammer(700, [
    () => redrive(first, some()),
    () => redrive(second, some()),
    () => second.deadLetters.discard(tenantId, letters[Math.floor(Math.random() * 60)]!),
  ])
  assert.deepEqual(errors, [])
  await assertWhole(client)
})
