// create×create, edit×create, delete×create on one key: a key belongs to one undeleted job of a tenant; the second
// request is refused, or gets the key if the first does not commit.
import assert from 'node:assert/strict'
import test from 'node:test'
import { defaultTenantId as tenantId } from '../../src/domain/tenants/tenant.ts'
import { Unavailable } from '../../src/lib/unavailable.ts'
import type { NewJob } from '../../src/ports/jobs.ts'
import { writeJob } from '../../src/postgres/jobs/change-job.sql.ts'
import { insertJobs } from '../../src/postgres/jobs/jobs.sql.ts'
import { edit, remove } from '../conformance/jobs/changes.ts'
import { POSTGRES_VERSIONS } from '../database.ts'
import { assertWhole } from './invariants.ts'
import { createRace, hammer, type Race, type Session } from './sessions.ts'

/** A job like another one, not created yet. */
function draft({ s }: Race, like: NewJob, key: string): NewJob {
  return { ...like, jobId: s.ids.next(), key }
}

const changeOf = ({ jobs }: Session, { jobId }: NewJob, key: string) =>
  jobs.change({ tenantId, jobId }, edit({}, key))

async function ownersOf({ client }: Race, key: string): Promise<string[]> {
  const { rows } = await client.query(
    'SELECT job_id FROM jobs WHERE key = $1 AND deleted_at IS NULL ORDER BY job_id',
    [key],
  )
  return rows.map((row: { job_id: string }) => row.job_id)
}

/** Ends the session that is in a transaction and waits for its client. */
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

  race('create×create: the second waits and finds the key taken', async (given) => {
    const { s, first, second, waiting } = given
    const [one, other] = [draft(given, await s.createJob(), 'k'), draft(given, await s.createJob(), 'k')]
    const held = first.holdAfter(insertJobs)
    const creating = first.jobs.create(one)
    await held.reached
    const late = second.jobs.create(other)
    await waiting()
    held.resume()
    assert.deepEqual(await Promise.all([creating, late]), ['created', 'key_taken'])
    assert.deepEqual(await ownersOf(given, 'k'), [one.jobId])
    assert.equal(await s.jobs.get(tenantId, other.jobId), null)
  })

  race('create×create: when the first is killed, the second has the key', async (given) => {
    const { s, first, second, waiting } = given
    const [one, other] = [draft(given, await s.createJob(), 'k'), draft(given, await s.createJob(), 'k')]
    const held = first.holdAfter(insertJobs)
    const creating = assert.rejects(first.jobs.create(one), Unavailable)
    await held.reached
    const late = second.jobs.create(other)
    await waiting()
    await killHeld(given)
    held.resume()
    await creating
    assert.equal(await late, 'created')
    assert.deepEqual(await ownersOf(given, 'k'), [other.jobId])
  })

  race('create×create in one go: one has the key, and only it is there', async (given) => {
    const { s, first } = given
    const like = await s.createJob()
    const drafts = Array.from({ length: 20 }, () => draft(given, like, 'k'))
    const outcomes = await Promise.all(drafts.map((job) => first.jobs.create(job)))
    assert.equal(outcomes.filter((outcome) => outcome === 'created').length, 1)
    assert.deepEqual(await ownersOf(given, 'k'), [drafts[outcomes.indexOf('created')]!.jobId])
    const { rows } = await given.client.query('SELECT count(*)::int AS jobs FROM job_versions')
    assert.equal(rows[0].jobs, 2)
  })

  race('edit into a key×create with it: the create waits and finds it taken', async (given) => {
    const { s, first, second, waiting } = given
    const job = await s.createJob()
    const held = first.holdAfter(writeJob)
    const editing = changeOf(first, job, 'k')
    await held.reached
    const creating = second.jobs.create(draft(given, job, 'k'))
    await waiting()
    held.resume()
    assert.equal(typeof (await editing), 'object')
    assert.equal(await creating, 'key_taken')
    assert.deepEqual(await ownersOf(given, 'k'), [job.jobId])
  })

  race('create×edit into its key: the edit looks, waits, and leaves the job as it was', async (given) => {
    const { s, first, second, waiting } = given
    const job = await s.createJob({ key: 'before' })
    const other = draft(given, job, 'k')
    const held = first.holdAfter(insertJobs)
    const creating = first.jobs.create(other)
    await held.reached
    const editing = changeOf(second, job, 'k')
    await waiting()
    held.resume()
    assert.deepEqual(await Promise.all([creating, editing]), ['created', 'key_taken'])
    const { key, version: unchanged } = (await s.jobs.get(tenantId, job.jobId))!
    assert.deepEqual([key, unchanged], ['before', 1])
  })

  race('edit×edit into one key: one has it', async (given) => {
    const { s, first, second, waiting } = given
    const [one, other] = [await s.createJob(), await s.createJob()]
    const held = first.holdAfter(writeJob)
    const editing = changeOf(first, one, 'k')
    await held.reached
    const late = changeOf(second, other, 'k')
    await waiting()
    held.resume()
    assert.equal(typeof (await editing), 'object')
    assert.equal(await late, 'key_taken')
    assert.deepEqual(await ownersOf(given, 'k'), [one.jobId])
  })

  race(
    'create×edit into its key under an idempotency key: all of the request is undone, and it begins anew',
    async (given) => {
      const { s, client, first, second, waiting } = given
      const job = await s.createJob()
      const held = first.holdAfter(insertJobs)
      const creating = first.jobs.create(draft(given, job, 'k'))
      await held.reached
      const once = { tenantId, key: 'request', fingerprint: new Uint8Array(32) }
      const reply = { status: 200, headers: {}, body: '{}' }
      const run = () =>
        second.requests.run({ once, dryRun: false }, async (stores) => {
          const value = await stores.jobs.change({ tenantId, jobId: job.jobId }, edit({}, 'k'))
          return { value, reply }
        })
      const editing = run()
      await waiting()
      held.resume()
      assert.equal(await creating, 'created')
      assert.deepEqual(await editing, { kind: 'done', value: 'key_taken' })
      assert.equal((await client.query('SELECT FROM idempotency_keys')).rowCount, 1)
    },
  )

  for (const [ending, outcome] of [
    ['goes through', 'created'],
    ['is killed', 'key_taken'],
  ] as const) {
    race(`delete×create with its key: when the delete ${ending}, it is ${outcome}`, async (given) => {
      const { s, first, second, waiting } = given
      const job = await s.createJob({ key: 'k' })
      const held = first.holdAfter(writeJob)
      const deleting = first.jobs
        .change({ tenantId, jobId: job.jobId }, remove)
        .catch((error: Error) => error)
      await held.reached
      const creating = second.jobs.create(draft(given, job, 'k'))
      await waiting()
      if (outcome === 'key_taken') await killHeld(given)
      held.resume()
      assert.equal((await deleting) instanceof Unavailable, outcome === 'key_taken')
      assert.equal(await creating, outcome)
      assert.equal((await ownersOf(given, 'k')).length, 1)
    })
  }
}

test('jobs with a few shared keys can be created, renamed and deleted by many people at once', async (t) => {
  const given = await createRace(t)
  const { s, client, first, second } = given
  const like = await s.createJob()
  const keys = ['a', 'b', 'c', 'd']
  const pick = <T>(from: readonly T[]): T => from[Math.floor(Math.random() * from.length)]!
  const anyJob = async () => {
    const { rows } = await client.query(
      'SELECT job_id FROM jobs WHERE deleted_at IS NULL ORDER BY random() LIMIT 1',
    )
    return rows[0] as { job_id: string } | undefined
  }
  const create = ({ jobs }: Session) =>
    Promise.all(keys.map(() => jobs.create(draft(given, like, pick(keys)))))
  const rename = async (session: Session) => {
    const found = await anyJob()
    if (found !== undefined) await changeOf(session, { ...like, jobId: found.job_id }, pick(keys))
  }
  const drop = async ({ jobs }: Session) => {
    const found = await anyJob()
    if (found !== undefined) await jobs.change({ tenantId, jobId: found.job_id }, remove)
  }
  const errors = await hammer(
    1_000,
    [first, second].flatMap((session) => [create, rename, drop].map((move) => () => move(session))),
  )
  assert.deepEqual(errors, [])
  await assertWhole(client)
})
