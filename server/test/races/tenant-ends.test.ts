// delete of a tenant × fire, trigger, create and graph run; purge × kill: nothing fires after the commit of the delete, and
// a purge that dies goes on where it was.
import assert from 'node:assert/strict'
import test from 'node:test'
import { sharedLane } from '../../src/domain/queue/lane.ts'
import { purgeWaitMs } from '../../src/domain/tenants/tenant-end.ts'
import { epochMs } from '../../src/lib/time/epoch.ts'
import { Unavailable } from '../../src/lib/unavailable.ts'
import { endTenants } from '../../src/maintenance/end-tenants.ts'
import type { NewJob } from '../../src/ports/jobs.ts'
import {
  purgeAttempts,
  purgeCursors,
  purgeJobs,
  purgeVersions,
} from '../../src/postgres/access/purge-tenant.sql.ts'
import { fenceTenants, markDeleted, markPurged } from '../../src/postgres/access/tenant-ends.sql.ts'
import { insertJobs } from '../../src/postgres/jobs/jobs.sql.ts'
import { insertTriggers } from '../../src/postgres/jobs/triggers.sql.ts'
import { fireSlots } from '../../src/postgres/scheduling/fire-slots.sql.ts'
import { lockCursors } from '../../src/postgres/scheduling/slots.sql.ts'
import { POSTGRES_VERSIONS } from '../database.ts'
import { createRace, type Race, type Session } from './sessions.ts'

async function addJob({ s }: Race, changes: Partial<NewJob> = {}): Promise<NewJob> {
  const tenantId = s.ids.next()
  assert.equal(typeof (await s.tenants.create({ tenantId, name: tenantId, tier: 'unlimited' })), 'object')
  return s.createJob({ tenantId, ...changes })
}

const deleteBy = ({ tenantEnds, ids }: Session, tenantId: string) =>
  tenantEnds.delete({
    ...{ tenantId, operationId: ids.next(), requestedBy: 'ada', cancelRunning: false },
    purgeAfterMs: 1_000,
  })

/** Steps until nothing is due. */
async function stepAll(session: Session): Promise<void> {
  const clock = { databaseNow: () => epochMs(Date.now()) }
  const deps = { ...session, clock, onChanged() {}, onCancelled() {} }
  for (let steps = 0; steps < 100; steps++) if ((await endTenants(deps)) !== 'more') return
  assert.fail('it does not come to an end')
}

async function countExecutions({ client }: Race, { jobId }: NewJob): Promise<number> {
  const { rows } = await client.query(
    `SELECT (SELECT count(*) FROM batches WHERE job_ids @> ARRAY[$1::uuid])::int
      + (SELECT count(*) FROM live WHERE job_id = $1)::int AS n`,
    [jobId],
  )
  return rows[0].n
}

for (const version of POSTGRES_VERSIONS) {
  const race = (title: string, body: (given: Race) => Promise<void>) =>
    test(`PostgreSQL ${version}: ${title}`, async (t) => body(await createRace(t, version)))

  for (const statement of [lockCursors, fireSlots]) {
    race(
      `fire×delete: a delete waits for a fire that has begun (held after ${statement.name})`,
      async (given) => {
        const { s, first, second, client, waiting } = given
        const job = await addJob(given)
        const held = first.holdAfter(statement)
        const firing = first.slots.fire([s.slotOf(job, 0)])
        await held.reached
        const deleting = deleteBy(second, job.tenantId)
        await waiting()
        const { rows } = await client.query('SELECT FROM tenants WHERE deleted_at IS NOT NULL')
        assert.equal(rows.length, 0)
        held.resume()
        assert.deepEqual(await firing, [])
        assert.equal(typeof (await deleting), 'object')
        assert.equal(await countExecutions(given, job), 1)
        assert.equal(await s.tryFire(job, 1), 'stale')
      },
    )
  }

  for (const statement of [fenceTenants, markDeleted]) {
    race(
      `delete×fire: a fire waits for the delete, and fires nothing (held after ${statement.name})`,
      async (given) => {
        const { s, first, second, waiting } = given
        const job = await addJob(given)
        const other = await s.createJob()
        const held = first.holdAfter(statement)
        const deleting = deleteBy(first, job.tenantId)
        await held.reached
        const firing = second.slots.fire([s.slotOf(job, 0), s.slotOf(other, 0)])
        await waiting()
        held.resume()
        await deleting
        assert.deepEqual(await firing, [{ jobId: job.jobId, slot: s.at(0), answer: 'stale' }])
        assert.equal(await countExecutions(given, job), 0)
        assert.equal(await countExecutions(given, other), 1)
      },
    )

    race(
      `delete×trigger: a trigger waits for the delete, and runs nothing (held after ${statement.name})`,
      async (given) => {
        const { s, first, second, waiting } = given
        const job = await addJob(given)
        const { tenantId, jobId } = job
        const held = first.holdAfter(statement)
        const deleting = deleteBy(first, tenantId)
        await held.reached
        const triggering = second.jobs.trigger({
          tenantId,
          jobId,
          executionId: s.ids.next(),
          lane: sharedLane,
        })
        await waiting()
        held.resume()
        await deleting
        assert.deepEqual(await triggering, { kind: 'not_found' })
        assert.equal(await countExecutions(given, job), 0)
      },
    )
  }

  race('trigger×delete: a delete waits for a trigger that has begun', async (given) => {
    const { s, first, second, waiting } = given
    const job = await addJob(given)
    const { tenantId, jobId } = job
    const held = first.holdAfter(insertTriggers)
    const triggering = first.jobs.trigger({ tenantId, jobId, executionId: s.ids.next(), lane: sharedLane })
    await held.reached
    const deleting = deleteBy(second, tenantId)
    await waiting()
    held.resume()
    assert.equal((await triggering).kind, 'triggered')
    await deleting
    assert.equal(await countExecutions(given, job), 1)
  })

  race('create×delete: a delete waits for a create, and one that comes later is refused', async (given) => {
    const { s, first, second, waiting } = given
    const job = await addJob(given)
    const held = first.holdAfter(insertJobs)
    const creating = first.jobs.create({ ...job, jobId: s.ids.next() })
    await held.reached
    const deleting = deleteBy(second, job.tenantId)
    await waiting()
    held.resume()
    assert.equal(await creating, 'created')
    await deleting
    assert.equal(await first.jobs.create({ ...job, jobId: s.ids.next() }), 'tenant_deleted')
  })

  race('a dump of the database, which reads every table, holds up no delete', async (given) => {
    const { s, client, first } = given
    const job = await addJob(given)
    await client.query('BEGIN; LOCK TABLE deleted_tenants IN ACCESS SHARE MODE')
    assert.equal(typeof (await deleteBy(first, job.tenantId)), 'object')
    await client.query('COMMIT')
    assert.equal(await s.tryFire(job, 0), 'stale')
  })

  race('a fire and a trigger hold the lock of the fence until their commit, and no longer', async (given) => {
    const { s, first, client } = given
    const job = await addJob(given)
    const modes = async () => {
      const { rows } = await client.query(
        // The table has the same oid in every database of a template.
        `SELECT DISTINCT mode
        FROM pg_locks
        WHERE relation = 'deleted_tenants'::regclass
          AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
        ORDER BY mode`,
      )
      return rows.map((row: { mode: string }) => row.mode)
    }
    for (const statement of [lockCursors, fireSlots]) {
      const held = first.holdAfter(statement)
      const firing = first.slots.fire([s.slotOf(job, statement === fireSlots ? 1 : 0)])
      await held.reached
      assert((await modes()).includes('RowShareLock'), statement.name)
      held.resume()
      await firing
      await s.runAll()
    }
    assert.deepEqual(await modes(), [])
  })

  race('two deletes at once are the same delete', async (given) => {
    const { first, second, waiting } = given
    const { tenantId } = await addJob(given)
    const held = first.holdAfter(markDeleted)
    const deleting = deleteBy(first, tenantId)
    await held.reached
    const again = deleteBy(second, tenantId)
    await waiting()
    held.resume()
    assert.deepEqual(await again, await deleting)
  })

  for (const statement of [purgeAttempts, purgeVersions, purgeCursors, purgeJobs, markPurged]) {
    race(`a purge that is killed after ${statement.name} goes on until nothing is left`, async (given) => {
      const { s, client, first, second } = given
      const job = await addJob(given)
      await s.fire(job, 0)
      await s.runAll()
      await deleteBy(first, job.tenantId)
      await stepAll(first)
      await client.query(
        `UPDATE tenants SET purge_at = purge_at - $1 * interval '1 millisecond' WHERE deleted_at IS NOT NULL`,
        [purgeWaitMs],
      )
      await client.query(
        `UPDATE tenant_work SET deleted_at = deleted_at - $1 * interval '1 millisecond', next_at = clock_ms()`,
        [purgeWaitMs],
      )
      const held = first.holdAfter(statement)
      const stepping = assert.rejects(stepAll(first), Unavailable)
      await held.reached
      const { rowCount } = await client.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND state = 'idle in transaction'`,
      )
      assert.equal(rowCount, 1)
      held.resume()
      await stepping
      await client.query('UPDATE tenant_work SET next_at = clock_ms()')
      await stepAll(second)
      const { rows } = await client.query(
        'SELECT purged_at IS NOT NULL AS over FROM tenants WHERE tenant_id = $1',
        [job.tenantId],
      )
      assert.equal(rows[0].over, true)
      for (const table of ['jobs', 'job_versions', 'cursors', 'attempts'])
        assert.equal((await client.query(`SELECT FROM ${table}`)).rowCount, 0, table)
    })
  }
}
