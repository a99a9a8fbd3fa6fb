// claim×claim and claim×reclaim: nothing is claimed twice, nothing is lost, nothing is held by a worker that is gone.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { executionIdAt } from '../../src/domain/queue/execution.ts'
import { sharedLane } from '../../src/domain/queue/lane.ts'
import { serverRoute } from '../../src/domain/queue/route.ts'
import type { Claimed } from '../../src/ports/queue.ts'
import { claimWork } from '../../src/postgres/queue/queue.sql.ts'
import { lockSilentWorker } from '../../src/postgres/queue/reclaim.sql.ts'
import { deleteWorker } from '../../src/postgres/queue/workers.sql.ts'
import { allHeld } from '../conformance/scenario.ts'
import { POSTGRES_VERSIONS } from '../database.ts'
import { assertWhole, placesOf } from './invariants.ts'
import { createRace, openSession, type Race, type Session } from './sessions.ts'

const orderOf = (workerId: string, count: number, hosts: string[] = []) => ({
  workerId,
  routes: [serverRoute],
  lanes: [{ lane: sharedLane, count }],
  hosts: hosts.map((host) => ({ host, count })),
  batchesMax: 20,
})

function idsOf({ batches, live }: Claimed): string[] {
  const inBatches = batches.flatMap(({ batchId, positions }) =>
    positions.map((at) => executionIdAt(batchId, at)),
  )
  return [...inBatches, ...live.map(({ executionId }) => executionId)].toSorted()
}

/** So many batches of so many executions each, of jobs of their own. */
async function fillBatches({ s }: Race, batches: number, size: number): Promise<string[]> {
  const ids: string[] = []
  for (let i = 0; i < batches; i++) {
    const jobs = await Promise.all(Array.from({ length: size }, () => s.createJob()))
    ids.push(...(await s.fireBatch(jobs, i)).executionIds)
  }
  return ids.toSorted()
}

for (const version of POSTGRES_VERSIONS) {
  for (const [what, count] of [
    ['a whole batch', 5],
    ['part of a batch', 2],
  ] as const) {
    test(`PostgreSQL ${version}: claim×claim: ${what} is skipped by a second claim while the first is in progress`, async (t) => {
      const race = await createRace(t, version)
      const { s, client, first, second } = race
      const all = await fillBatches(race, 2, 5)
      const [one, other] = [await s.addWorker(), await s.addWorker()]
      const held = first.holdAfter(claimWork)
      const claiming = first.queue.claim(orderOf(one, count))
      await held.reached
      const theirs = idsOf(await second.queue.claim(orderOf(other, 10)))
      held.resume()
      const ours = idsOf(await claiming)
      assert.equal(ours.length, count)
      // The claim reads more than it takes: others skip the executions it read until it is done.
      const rest = idsOf(await second.queue.claim(orderOf(other, 10)))
      assert.deepEqual([...ours, ...theirs, ...rest].toSorted(), all)
      await assertWhole(client)
    })
  }

  test(`PostgreSQL ${version}: claim×claim: of a batch that is split while a claim looks at it, the rest is claimed`, async (t) => {
    const race = await createRace(t, version)
    const { s, client, second } = race
    const all = await fillBatches(race, 1, 5)
    const [one, other] = [await s.addWorker(), await s.addWorker()]
    const held = await holdLook(t, race)
    const looking = held.session.queue.claim(orderOf(one, 10))
    await held.reached()
    assert.deepEqual(idsOf(await second.queue.claim(orderOf(other, 2))), all.slice(0, 2))
    await held.resume()
    assert.deepEqual(idsOf(await looking), all.slice(2))
    await assertWhole(client)
  })

  test(`PostgreSQL ${version}: claim×claim: a batch that is claimed while a claim looks at it is not claimed`, async (t) => {
    const race = await createRace(t, version)
    const { s, client, second } = race
    const all = await fillBatches(race, 1, 5)
    const [one, other] = [await s.addWorker(), await s.addWorker()]
    const held = await holdLook(t, race)
    const looking = held.session.queue.claim(orderOf(one, 3))
    await held.reached()
    assert.deepEqual(idsOf(await second.queue.claim(orderOf(other, 5))), all)
    await held.resume()
    assert.deepEqual(idsOf(await looking), [])
    await assertWhole(client)
  })

  test(`PostgreSQL ${version}: claim×claim: a split batch that comes back while a claim looks at it is split again`, async (t) => {
    const race = await createRace(t, version)
    const { s, client, second } = race
    const all = await fillBatches(race, 1, 6)
    const [one, other] = [await s.addWorker(), await s.addWorker()]
    const held = await holdLook(t, race)
    const looking = held.session.queue.claim(orderOf(one, 3))
    await held.reached()
    assert.deepEqual(idsOf(await second.queue.claim(orderOf(other, 2))), all.slice(0, 2))
    await held.resume()
    assert.deepEqual(idsOf(await looking), all.slice(2, 5))
    assert.deepEqual(idsOf(await second.queue.claim(orderOf(other, 9))), all.slice(5))
    await assertWhole(client)
  })

  test(`PostgreSQL ${version}: claim×reclaim: a claim in flight is seen by the reclaim, which waits for it`, async (t) => {
    const race = await createRace(t, version)
    const { s, client, first, second, waiting } = race
    const all = await fillBatches(race, 2, 3)
    const workerId = await s.addWorker()
    const held = first.holdAfter(claimWork)
    const claiming = first.queue.claim(orderOf(workerId, 4))
    await held.reached
    const reclaiming = second.maintenance.reclaim({ holderId: workerId, beats: 0 })
    await waiting()
    held.resume()
    assert.deepEqual(idsOf(await claiming), all.slice(0, 4))
    assert.notEqual(await reclaiming, 'alive')
    const { rows } = await client.query(
      'SELECT count(*)::int AS n FROM live WHERE losses = 1 AND worker_id IS NULL',
    )
    assert.equal(rows[0].n, 4)
    assert.equal((await client.query('SELECT FROM workers')).rowCount, 0)
    await assertWhole(client)
  })

  for (const statement of [lockSilentWorker, deleteWorker]) {
    test(`PostgreSQL ${version}: reclaim×claim: a claim after ${statement.name} fails, and takes nothing`, async (t) => {
      const race = await createRace(t, version)
      const { s, client, first, second, waiting } = race
      const all = await fillBatches(race, 2, 3)
      const workerId = await s.addWorker()
      const held = first.holdAfter(statement)
      const reclaiming = first.maintenance.reclaim({ holderId: workerId, beats: 0 })
      await held.reached
      const claiming = assert.rejects(second.queue.claim(orderOf(workerId, 4)), { code: '23503' })
      await waiting()
      held.resume()
      assert.notEqual(await reclaiming, 'alive')
      await claiming
      const expected = all.map((id) => [id, 'batch'])
      assert.deepEqual(await placesOf(client), Object.fromEntries(expected))
      assert.deepEqual(idsOf(await s.claim(await s.addWorker())), all)
      await assertWhole(client)
    })
  }

  test(`PostgreSQL ${version}: a worker that still holds something cannot be unregistered`, async (t) => {
    const race = await createRace(t, version)
    const { s, client } = race
    await fillBatches(race, 1, 3)
    const workerId = await s.addWorker()
    await s.claim(workerId, 2)
    await assert.rejects(s.leases.unregister(workerId), { code: '23503' })
    assert.equal((await client.query('SELECT FROM workers')).rowCount, 1)
    assert.equal(await s.queue.releaseUnknown(workerId, []), 2)
    await s.leases.unregister(workerId)
    await assertWhole(client)
  })
}

/**
 * A session with a claim held after it took its snapshot and saw a batch, but before it locked the batch: the claim
 * asks for the cardinality of its positions, and in this database that waits for an advisory lock.
 */
async function holdLook(t: TestContext, { address, client, waiting }: Race) {
  await client.query(`
    CREATE FUNCTION public.cardinality(place smallint[]) RETURNS integer LANGUAGE plpgsql AS $$ BEGIN
      IF current_setting('application_name') = 'carillon held' THEN PERFORM pg_advisory_xact_lock(77); END IF;
      RETURN array_length(place, 1);
    END $$;
    ALTER DATABASE ${address.database} SET search_path = public, pg_catalog`)
  await client.query('SELECT pg_advisory_lock(77)')
  return {
    session: openSession(t, address, 'held'),
    reached: () => waiting(),
    resume: () => client.query('SELECT pg_advisory_unlock(77)'),
  }
}

test('claim×claim: workers that hammer 10,000 executions claim each exactly once', async (t) => {
  const race = await createRace(t)
  const { s, client, address } = race
  await client.query(
    `WITH job AS (
      INSERT INTO jobs (job_id, tenant_id, version, created_at, updated_at, name, tags, search)
      SELECT gen_random_uuid(), tenant_id, 1, now(), now(), 'a', '{}', 'a' FROM tenants, generate_series(1, 10000) RETURNING job_id
    ), version AS (
      INSERT INTO job_versions (job_id, version, tenant_id, name, tags, schedule, anchor_at, execution, retry_policy, priority,
        overlap_policy, misfire_policy, metadata, jitter_seconds, route, own_rows)
      SELECT job_id, 1, tenant_id, 'a', '{}', '{}', now(), '{"timeout_seconds":30}', '{}', 5, 'SKIP', 'FIRE_ONCE', '{}', 0, $1,
        false
      FROM job CROSS JOIN tenants
    ), numbered AS (SELECT job_id, row_number() OVER () - 1 AS n FROM job)
    INSERT INTO batches (batch_id, route, lane, priority, enqueued_at, rank, positions, job_ids, versions, slots_ms)
    SELECT batch_of(gen_random_uuid()), $1, $2, 5, now(), now() + n / 100 * interval '1 millisecond',
      array_agg(n % 100 ORDER BY n), array_agg(job_id ORDER BY n), array_agg(1), array_agg(0)
    FROM numbered GROUP BY n / 100`,
    [serverRoute, sharedLane],
  )
  const all = Object.keys(await placesOf(client)).toSorted()
  assert.equal(all.length, 10_000)
  /** By execution: how often it was claimed, less how often it was handed back. */
  const claims = new Map(all.map((id) => [id, 0]))
  const fences = new Set<string>()
  const work = async ({ queue }: Session) => {
    const workerId = await s.addWorker()
    for (let none = 0; none < 5; ) {
      const order = orderOf(workerId, 1 + Math.floor(Math.random() * 250))
      const claimed = await queue.claim({ ...order, batchesMax: 1 + Math.floor(Math.random() * 5) })
      const ids = idsOf(claimed)
      none = ids.length === 0 ? none + 1 : 0
      for (const id of ids) claims.set(id, claims.get(id)! + 1)
      for (const { executionId, fence } of claimed.live) {
        assert(!fences.has(`${executionId} ${fence}`), 'a fence is given twice')
        fences.add(`${executionId} ${fence}`)
      }
      // Some of it comes back and is claimed again, by whomever.
      const back = claimed.live.filter(() => Math.random() < 0.3)
      const ends = back.map((one) => ({ ...one, ending: { kind: 'unstarted', host: null } as const }))
      for (const { executionId } of back) claims.set(executionId, claims.get(executionId)! - 1)
      assert.deepEqual(await queue.finishLive(workerId, ends), allHeld)
    }
  }
  const sessions = [1, 2, 3].map(() => openSession(t, address))
  await Promise.all(sessions.flatMap((session) => [work(session), work(session)]))
  assert.deepEqual(
    [...claims].filter(([, count]) => count !== 1),
    [],
  )
  assert.deepEqual(Object.keys(await placesOf(client)).toSorted(), all)
  const { rows } = await client.query(`SELECT FROM live WHERE state <> 'running'
    UNION ALL SELECT FROM batches WHERE worker_id IS NULL`)
  assert.equal(rows.length, 0)
})
