// Backfills: enqueue×enqueue, enqueue×delete, enqueue×cancel of the operation, release×cancel of it. A backfill never
// has more unended executions than its limit, and none of them starts after it was cancelled or its job deleted.
import assert from 'node:assert/strict'
import test from 'node:test'
import { backfillCancelledMessage, type NewOperation } from '../../src/domain/jobs/operation.ts'
import { LaneChooser, sharedLane } from '../../src/domain/queue/lane.ts'
import { serverRoute } from '../../src/domain/queue/route.ts'
import { defaultTenantId as tenantId } from '../../src/domain/tenants/tenant.ts'
import { WaitingEstimates } from '../../src/domain/tenants/waiting-estimates.ts'
import { epochMs } from '../../src/lib/time/epoch.ts'
import { runOperation } from '../../src/maintenance/run-operations.ts'
import type { NewJob } from '../../src/ports/jobs.ts'
import { writeJob } from '../../src/postgres/jobs/change-job.sql.ts'
import { advanceOperation, cancelOperation } from '../../src/postgres/jobs/operations.sql.ts'
import { countBackfill, insertBackfill } from '../../src/postgres/jobs/triggers.sql.ts'
import { cancelLiveOfOperation } from '../../src/postgres/queue/cancel.sql.ts'
import { releaseWaiting } from '../../src/postgres/queue/maintenance.sql.ts'
import { claimWork } from '../../src/postgres/queue/queue.sql.ts'
import { change, remove } from '../conformance/jobs/changes.ts'
import { POSTGRES_VERSIONS } from '../database.ts'
import { assertWhole, placesOf } from './invariants.ts'
import { createRace, type Race, releaseAll, type Session } from './sessions.ts'

function stepOf({ operations }: Session, { s }: Race) {
  const clock = {
    databaseNow: () => epochMs(Date.now()),
    uncertaintyMs: () => 0,
    monotonicMs: () => performance.now(),
  }
  const deps = { clock, ids: s.ids, lanes: new LaneChooser(), waiting: new WaitingEstimates(), operations }
  return runOperation({ ...deps, onChanged() {}, onReady() {}, onCancelled() {} })
}

/** A backfill of the seconds -50 to -1 of a job, so many at once. */
async function create({ s }: Race, job: NewJob, maxConcurrent: number): Promise<string> {
  const operationId = s.ids.next()
  const { schedule, anchorAt, jobId } = job
  const operation: NewOperation = {
    ...{ operationId, tenantId, kind: 'backfill', createdBy: 'tester', total: 50, totalCapped: false },
    createdAt: await s.now(),
    filter: { jobId, from: s.at(-50), to: s.at(-1) },
    options: { backfill: { order: 'asc', maxConcurrent, schedule, anchorAt } },
  }
  assert.equal(await s.operations.create(operation), 'created')
  return operationId
}

const orderOf = ({ s }: Race, { jobId }: NewJob, operationId: string) => ({
  ...{ tenantId, jobId, operationId, unendedMax: 3 },
  executions: [1, 2, 3, 4].map((n) => ({ executionId: s.ids.next(), slot: s.at(-n), lane: sharedLane })),
})

const unended = async ({ client }: Race): Promise<number> =>
  (await client.query(`SELECT FROM live WHERE kind = 'backfill'`)).rowCount!

for (const version of POSTGRES_VERSIONS) {
  const race = (title: string, body: (given: Race) => Promise<void>) =>
    test(`PostgreSQL ${version}: ${title}`, async (t) => {
      const given = await createRace(t, version)
      await body(given)
      await assertWhole(given.client)
    })

  for (const statement of [countBackfill, insertBackfill]) {
    race(
      `enqueue×enqueue of one backfill: no more than may (held after ${statement.name})`,
      async (given) => {
        const { s, first, second, waiting } = given
        const job = await s.createJob()
        const operationId = s.ids.next()
        const held = first.holdAfter(statement)
        const one = first.jobs.enqueueBackfill(orderOf(given, job, operationId))
        await held.reached
        const other = second.jobs.enqueueBackfill(orderOf(given, job, operationId))
        await waiting()
        held.resume()
        assert.deepEqual(await one, { enqueued: 3, unended: 3 })
        assert.deepEqual(await other, { enqueued: 0, unended: 3 })
        assert.equal(await unended(given), 3)
      },
    )

    race(
      `enqueue×delete of the job: what was made is cancelled with it (held after ${statement.name})`,
      async (given) => {
        const { s, client, first, second, waiting } = given
        const job = await s.createJob()
        const held = first.holdAfter(statement)
        const making = first.jobs.enqueueBackfill(orderOf(given, job, s.ids.next()))
        await held.reached
        const deleting = change(second, job, remove)
        await waiting()
        held.resume()
        assert.equal((await making)?.enqueued, 3)
        await deleting
        assert.deepEqual(Object.values(await placesOf(client)), ['final', 'final', 'final'])
      },
    )
  }

  race('delete×enqueue: nothing is made of a deleted job, and the backfill has failed', async (given) => {
    const { s, client, first, second, waiting } = given
    const job = await s.createJob()
    const operationId = await create(given, job, 3)
    const held = first.holdAfter(writeJob)
    const deleting = change(first, job, remove)
    await held.reached
    const stepping = stepOf(second, given)
    await waiting()
    held.resume()
    await Promise.all([deleting, stepping])
    assert.equal((await s.operations.get(tenantId, operationId))?.status, 'FAILED')
    assert.deepEqual(await placesOf(client), {})
  })

  for (const statement of [insertBackfill, advanceOperation]) {
    race(
      `step×cancel of the backfill: what the step made is cancelled with it (held after ${statement.name})`,
      async (given) => {
        const { s, client, first, second, waiting } = given
        const operationId = await create(given, await s.createJob(), 3)
        const held = first.holdAfter(statement)
        const stepping = stepOf(first, given)
        await held.reached
        const cancelling = second.operations.cancel(tenantId, operationId)
        await waiting()
        held.resume()
        await stepping
        assert.equal((await cancelling)?.status, 'CANCELLED')
        assert.equal(await unended(given), 0)
        const { rows } = await client.query('SELECT DISTINCT outcome, error_message FROM attempts')
        assert.deepEqual(rows, [{ outcome: 'cancelled', error_message: backfillCancelledMessage }])
        assert.equal(await stepOf(second, given), 'idle')
      },
    )
  }

  for (const statement of [cancelOperation, cancelLiveOfOperation]) {
    race(
      `cancel of the backfill×step: it is not taken after ${statement.name}, and nothing more is made`,
      async (given) => {
        const { s, first, second } = given
        const operationId = await create(given, await s.createJob(), 3)
        await stepOf(first, given)
        await given.client.query('UPDATE operations SET next_at = clock_ms()')
        const held = first.holdAfter(statement)
        const cancelling = first.operations.cancel(tenantId, operationId)
        await held.reached
        assert.equal(await stepOf(second, given), 100, 'it looks again soon')
        held.resume()
        assert.equal((await cancelling)?.status, 'CANCELLED')
        assert.equal(await stepOf(second, given), 'idle')
        assert.equal(await unended(given), 0)
      },
    )
  }

  race(
    'release×cancel of the backfill: what was let go and does not run is cancelled all the same',
    async (given) => {
      const { s, first, second, waiting } = given
      const job = await s.createJob()
      const operationId = await create(given, job, 3)
      await stepOf(first, given)
      const held = first.holdAfter(releaseWaiting)
      const releasing = releaseAll(first, [job.jobId])
      await held.reached
      const cancelling = second.operations.cancel(tenantId, operationId)
      await waiting()
      held.resume()
      assert.equal((await releasing).ready, 1)
      await cancelling
      assert.equal(await unended(given), 0)
    },
  )

  race(
    'claim×cancel of the backfill: what is being claimed runs on, the others are cancelled',
    async (given) => {
      const { s, first, second, waiting } = given
      const job = await s.createJob()
      const operationId = await create(given, job, 3)
      await stepOf(first, given)
      await releaseAll(first, [job.jobId])
      const workerId = await s.addWorker()
      const held = first.holdAfter(claimWork)
      const lanes = [{ lane: sharedLane, count: 5 }]
      const claiming = first.queue.claim({ workerId, routes: [serverRoute], lanes, hosts: [], batchesMax: 5 })
      await held.reached
      const cancelling = second.operations.cancel(tenantId, operationId)
      await waiting()
      held.resume()
      const { live } = await claiming
      assert.equal(live.length, 1)
      await cancelling
      assert.equal(await unended(given), 1)
      await s.finishLive(workerId, live[0]!, s.succeeded())
      assert.equal(await s.statusOf(live[0]!.executionId), 'SUCCEEDED')
    },
  )

  race(
    'two runners, releases and a worker: all slots of a backfill run once, never more at once than may',
    async (given) => {
      const { s, client, first, second } = given
      const job = await s.createJob()
      const operationId = await create(given, job, 3)
      for (let rounds = 0; rounds < 200; rounds++) {
        await client.query(`UPDATE operations SET next_at = clock_ms() WHERE status = 'RUNNING'`)
        await Promise.all([stepOf(first, given), stepOf(second, given), releaseAll(first, [job.jobId])])
        assert((await unended(given)) <= 3)
        await Promise.all([releaseAll(second, [job.jobId]), s.runAll()])
        if ((await s.operations.get(tenantId, operationId))?.status !== 'RUNNING') break
      }
      const { status, done } = (await s.operations.get(tenantId, operationId))!
      assert.deepEqual([status, done], ['COMPLETED', 50])
      const { rows } = await client.query(
        'SELECT count(*)::int AS n, count(DISTINCT slot)::int AS slots FROM attempts',
      )
      assert.deepEqual(rows, [{ n: 50, slots: 50 }])
    },
  )
}
