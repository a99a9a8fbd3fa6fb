// step×step, step×cancel, step×trigger, and steps that die half-way: each target once, nothing left out, and no step
// half done.
import assert from 'node:assert/strict'
import test from 'node:test'
import type { NewOperation, Operation } from '../../src/domain/jobs/operation.ts'
import { LaneChooser, sharedLane } from '../../src/domain/queue/lane.ts'
import { defaultTenantId as tenantId } from '../../src/domain/tenants/tenant.ts'
import { WaitingEstimates } from '../../src/domain/tenants/waiting-estimates.ts'
import { epochMs } from '../../src/lib/time/epoch.ts'
import { Unavailable } from '../../src/lib/unavailable.ts'
import { type OperationDeps, runOperation } from '../../src/maintenance/run-operations.ts'
import { lockJob, writeJob } from '../../src/postgres/jobs/change-job.sql.ts'
import { advanceOperation, cancelOperation, takeOperation } from '../../src/postgres/jobs/operations.sql.ts'
import { lockFreeJobs } from '../../src/postgres/jobs/triggers.sql.ts'
import { change, pause, remove } from '../conformance/jobs/changes.ts'
import { POSTGRES_VERSIONS } from '../database.ts'
import { assertWhole } from './invariants.ts'
import { createPatientRace, createRace, hammer, type Race, type Session } from './sessions.ts'

/** The dependencies with which a process runs its steps. */
function depsOf({ operations }: Session, { s }: Race): OperationDeps {
  const clock = {
    databaseNow: () => epochMs(Date.now()),
    uncertaintyMs: () => 0,
    monotonicMs: () => performance.now(),
  }
  return {
    clock,
    ids: s.ids,
    lanes: new LaneChooser(),
    waiting: new WaitingEstimates(),
    operations,
    onChanged() {},
    onReady() {},
    onCancelled() {},
  }
}

const stepOf = (session: Session, race: Race) => runOperation(depsOf(session, race))

async function create({ s }: Race, kind: NewOperation['kind']): Promise<string> {
  const operationId = s.ids.next()
  const filter =
    kind === 'redrive'
      ? { jobId: null, reason: null, errorType: null, from: null, to: null }
      : { status: null, tag: null, q: null }
  const options = kind === 'redrive' ? { ratePerSecond: 1_000 } : {}
  const operation = {
    ...{ operationId, tenantId, kind, filter, options },
    ...{ createdBy: 'tester', createdAt: await s.now(), total: 0, totalCapped: false },
  } as NewOperation
  assert.equal(await s.operations.create(operation), 'created')
  return operationId
}

async function get({ s }: Race, operationId: string): Promise<Operation> {
  return (await s.operations.get(tenantId, operationId))!
}

async function createJobs({ s }: Race, count: number) {
  const jobs = []
  for (let i = 0; i < count; i++) jobs.push(await s.createJob())
  return jobs
}

async function statusesOf({ client }: Race): Promise<Record<string, number>> {
  const { rows } = await client.query('SELECT status, count(*)::int AS n FROM cursors GROUP BY status')
  return Object.fromEntries(rows.map((row: { status: string; n: number }) => [row.status, row.n]))
}

async function killHeld({ client }: Race): Promise<void> {
  const { rowCount } = await client.query(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND state = 'idle in transaction'`,
  )
  assert.equal(rowCount, 1)
}

for (const version of POSTGRES_VERSIONS) {
  const race = (title: string, body: (given: Race) => Promise<void>) =>
    test(`PostgreSQL ${version}: ${title}`, async (t) => {
      const given = await createRace(t, version)
      await body(given)
      await assertWhole(given.client)
    })

  for (const statement of [takeOperation, writeJob, advanceOperation]) {
    race(
      `step×step: the operation that one step holds is passed over by the other (held after ${statement.name})`,
      async (given) => {
        const { first, second } = given
        await createJobs(given, 3)
        const operationId = await create(given, 'pause')
        const held = first.holdAfter(statement)
        const stepping = stepOf(first, given)
        await held.reached
        assert.equal(await stepOf(second, given), 100, 'it looks again soon')
        held.resume()
        assert.equal(await stepping, 'more')
        const { status, done, skipped } = await get(given, operationId)
        assert.deepEqual([status, done, skipped], ['COMPLETED', 3, 0])
        assert.equal(await stepOf(second, given), 'idle')
      },
    )

    race(
      `step×step: two operations go on beside each other (held after ${statement.name})`,
      async (given) => {
        const { first, second } = given
        await createJobs(given, 2)
        const trigger = await create(given, 'trigger')
        const held = first.holdAfter(statement === writeJob ? takeOperation : statement)
        const stepping = stepOf(first, given)
        await held.reached
        const nothing = await create(given, 'redrive')
        assert.equal(await stepOf(second, given), 'more')
        assert.equal((await get(given, nothing)).status, 'COMPLETED')
        held.resume()
        await stepping
        assert.equal((await get(given, trigger)).done, 2)
      },
    )
  }

  race('two runners, one operation over many: each target once', async (given) => {
    const { client, first, second } = given
    await createJobs(given, 130)
    const operationId = await create(given, 'trigger')
    const work = async (session: Session) => {
      for (let turns = 0; turns < 200 && (await get(given, operationId)).status === 'RUNNING'; turns++)
        await stepOf(session, given)
    }
    await Promise.all([work(first), work(second), work(first)])
    const { status, done, skipped } = await get(given, operationId)
    assert.deepEqual([status, done, skipped], ['COMPLETED', 130, 0])
    const { rows } = await client.query('SELECT job_id FROM live GROUP BY job_id HAVING count(*) = 1')
    assert.deepEqual([rows.length, (await client.query('SELECT FROM live')).rowCount], [130, 130])
  })

  for (const jobs of [3, 14]) {
    race(`step×cancel: of ${jobs}, what the step did stays done, and no more is done`, async (given) => {
      const { first, second, waiting } = given
      await createJobs(given, jobs)
      const operationId = await create(given, 'pause')
      const held = first.holdAfter(advanceOperation)
      const stepping = stepOf(first, given)
      await held.reached
      const cancelling = second.operations.cancel(tenantId, operationId)
      await waiting()
      held.resume()
      await stepping
      const { status, done } = (await cancelling)!
      assert.deepEqual([status, done], jobs === 3 ? ['COMPLETED', 3] : ['CANCELLED', 10])
      assert.equal(await stepOf(second, given), 'idle')
      assert.deepEqual(await statusesOf(given), jobs === 3 ? { PAUSED: 3 } : { PAUSED: 10, ACTIVE: 4 })
    })
  }

  race('cancel×step: an operation that is being cancelled is not taken', async (given) => {
    const { first, second } = given
    await createJobs(given, 3)
    const operationId = await create(given, 'delete')
    const held = first.holdAfter(cancelOperation)
    const cancelling = first.operations.cancel(tenantId, operationId)
    await held.reached
    assert.equal(await stepOf(second, given), 100)
    held.resume()
    assert.equal((await cancelling)?.status, 'CANCELLED')
    assert.equal(await stepOf(second, given), 'idle')
    assert.deepEqual(await statusesOf(given), { ACTIVE: 3 })
  })

  race('a step that throws half-way leaves nothing of itself, and is made again', async (given) => {
    const { s, client, first, second } = given
    const jobs = await createJobs(given, 3)
    const operationId = await create(given, 'pause')
    await assert.rejects(
      first.operations.step(async (_operation, stores) => {
        for (const job of jobs.slice(0, 2)) await change(stores, job, pause())
        throw new Error('halfway')
      }),
      /halfway/,
    )
    assert.deepEqual(await statusesOf(given), { ACTIVE: 3 })
    assert.equal((await client.query('SELECT FROM skips')).rowCount, 0)
    const { status, done, after } = await get(given, operationId)
    assert.deepEqual([status, done, after], ['RUNNING', 0, null])
    assert((await s.operations.nextAt())! > (await s.now()), 'not at once')
    await client.query('UPDATE operations SET next_at = clock_ms()')
    assert.equal(await stepOf(second, given), 'more')
    assert.deepEqual(await statusesOf(given), { PAUSED: 3 })
  })

  for (const statement of [takeOperation, writeJob, advanceOperation]) {
    race(
      `a step that is killed after ${statement.name} leaves nothing of itself, and is made again`,
      async (given) => {
        const { client, first, second } = given
        await createJobs(given, 3)
        const operationId = await create(given, 'pause')
        const held = first.holdAfter(statement)
        const stepping = assert.rejects(stepOf(first, given), Unavailable)
        await held.reached
        await killHeld(given)
        held.resume()
        await stepping
        assert.deepEqual(await statusesOf(given), { ACTIVE: 3 })
        await client.query('UPDATE operations SET next_at = clock_ms()')
        assert.equal(await stepOf(second, given), 'more')
        const { status, done } = await get(given, operationId)
        assert.deepEqual([status, done], ['COMPLETED', 3])
        assert.deepEqual(await statusesOf(given), { PAUSED: 3 })
      },
    )
  }

  race('step×delete: a job that is deleted before its turn is passed over', async (given) => {
    const { first, second } = given
    const jobs = await createJobs(given, 3)
    const operationId = await create(given, 'trigger')
    const held = first.holdBefore(lockFreeJobs)
    const stepping = stepOf(first, given)
    await held.reached
    for (const job of jobs) await change(second, job, remove)
    held.resume()
    await stepping
    const { done, skipped } = await get(given, operationId)
    assert.deepEqual([done, skipped], [0, 3])
  })

  // Locks are taken in the order of ids everywhere. A deadlock shows as a lock that is waited for too long: the
  // server would look for one only after ten seconds.
  test(`PostgreSQL ${version}: step×trigger of the same jobs: neither waits for the other for ever`, async (t) => {
    const given = await createPatientRace(t, version)
    const { s, client, first, second, waiting } = given
    const jobs = await createJobs(given, 3)
    await create(given, 'pause')
    const held = first.holdAfter(lockJob)
    const stepping = stepOf(first, given)
    await held.reached
    const other = await s.createJob()
    // The first goes alone; the others, which come while it is written, go together.
    const triggers = [other, ...jobs].map(({ jobId }) =>
      second.jobs.trigger({ tenantId, jobId, executionId: s.ids.next(), lane: sharedLane }),
    )
    await waiting()
    held.resume()
    assert.equal(await stepping, 'more')
    for (const { kind } of await Promise.all(triggers)) assert.equal(kind, 'triggered')
    await assertWhole(client)
  })
}

test('operations can be started, cancelled and run by many people and runners at once', async (t) => {
  const given = await createRace(t)
  const { s, client, first, second } = given
  await createJobs(given, 60)
  const kinds = ['pause', 'resume', 'trigger', 'redrive'] as const
  const start = async () => {
    const { rowCount } = await client.query(`SELECT FROM operations WHERE status = 'RUNNING'`)
    if (rowCount! < 10) await create(given, kinds[Math.floor(Math.random() * kinds.length)]!)
  }
  const stop = async () => {
    const { operations } = await s.operations.list({ tenantId, before: null, limit: 5 })
    const { operationId } = operations[Math.floor(Math.random() * operations.length)] ?? {}
    if (operationId !== undefined && Math.random() < 0.2) await s.operations.cancel(tenantId, operationId)
  }
  const runners = [first, second].flatMap((session) =>
    [session, session].map((one) => () => stepOf(one, given)),
  )
  const errors = await hammer(2_000, [start, stop, () => s.runAll(), ...runners])
  assert.deepEqual(errors, [])
  const { rows } = await client.query('SELECT failures FROM operations WHERE failures > 0')
  assert.deepEqual(rows, [])
  await assertWhole(client)
})
