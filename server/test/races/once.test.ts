// One key, one effect, one answer: for concurrent callers, for a caller killed in the middle, and when the reply to a
// commit is lost.
import assert from 'node:assert/strict'
import test from 'node:test'
import { sharedLane } from '../../src/domain/queue/lane.ts'
import { defaultTenantId as tenantId } from '../../src/domain/tenants/tenant.ts'
import { realRandom } from '../../src/lib/random.ts'
import type { Sql } from '../../src/lib/sql.ts'
import { realTimers } from '../../src/lib/time/timers.ts'
import { Unavailable } from '../../src/lib/unavailable.ts'
import type { NewJob } from '../../src/ports/jobs.ts'
import type { Done, Once, Reply, RunOutcome, WriteStores } from '../../src/ports/requests.ts'
import { Database, type Queries, type Rows } from '../../src/postgres/connection/database.ts'
import { insertJobs } from '../../src/postgres/jobs/jobs.sql.ts'
import { PostgresJobs } from '../../src/postgres/jobs/jobs.ts'
import { claimKeys, insertReplies } from '../../src/postgres/jobs/requests.sql.ts'
import { PostgresRequests } from '../../src/postgres/jobs/requests.ts'
import { insertTriggers } from '../../src/postgres/jobs/triggers.sql.ts'
import { cleanUp } from '../cleanup.ts'
import { change, pause, remove } from '../conformance/jobs/changes.ts'
import { POSTGRES_VERSIONS } from '../database.ts'
import { assertWhole } from './invariants.ts'
import { createPatientRace, createRace, hammer, openSession, type Race, type Session } from './sessions.ts'

const reply: Reply = { status: 201, headers: { location: '/jobs/7' }, body: '{"a":1}' }
const onceOf = (changes: Partial<Once> = {}): Once => ({
  tenantId,
  key: 'order-7',
  fingerprint: new TextEncoder().encode('POST /jobs'),
  ...changes,
})

type Work = (stores: WriteStores) => Promise<Done<string>>

/** Creates a job, and triggers it. */
function creates({ s }: Race, like: NewJob): Work {
  return async ({ jobs }) => {
    const jobId = s.ids.next()
    assert.equal(await jobs.create({ ...like, jobId }), 'created')
    const order = { tenantId, jobId, executionId: s.ids.next(), lane: sharedLane }
    assert.equal((await jobs.trigger(order)).kind, 'triggered')
    return { value: jobId, reply }
  }
}

const run = ({ requests }: Pick<Session, 'requests'>, work: Work, changes: Partial<Once> = {}) =>
  requests.run({ once: onceOf(changes), dryRun: false }, work)

const tables = [
  'jobs',
  'job_versions',
  'cursors',
  'changes',
  'live',
  'batches',
  'slots',
  'skips',
  'catchups',
  'attempts',
]

/** The number of rows of each table, and their content. */
async function contentOf({ client }: Race, names: readonly string[] = [...tables, 'idempotency_keys']) {
  const content: Record<string, unknown> = {}
  for (const name of names) {
    const { rows } = await client.query(
      `SELECT count(*)::int AS n, md5(string_agg(x::text, ' ' ORDER BY x::text)) AS text FROM ${name} x`,
    )
    content[name] = rows[0]
  }
  return content
}

async function countOf({ client }: Race, table: string): Promise<number> {
  return (await client.query(`SELECT FROM ${table}`)).rowCount!
}

/** Ends the one session that is within a transaction and waits for its client. */
async function killHeld({ client }: Race): Promise<void> {
  const { rowCount } = await client.query(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND state = 'idle in transaction'`,
  )
  assert.equal(rowCount, 1)
}

/** A database that commits every write and never replies. */
class DeafDatabase extends Database {
  override async query<R extends object>(statement: Sql, values: readonly unknown[]): Promise<Rows<R>> {
    await super.query<R>(statement, values)
    throw new Unavailable('the database')
  }

  override async transaction<T>(work: (queries: Queries) => Promise<T>): Promise<T> {
    await super.transaction(work)
    throw new Unavailable('the database')
  }
}

function openDeaf(t: Parameters<typeof createRace>[0], { address }: Race) {
  const deps = { timers: realTimers, random: realRandom }
  const database = new DeafDatabase(deps, { name: 'deaf', address, connectionsMax: 4 })
  cleanUp(t, () => database[Symbol.asyncDispose]())
  return { jobs: new PostgresJobs(database), requests: new PostgresRequests(database) }
}

for (const version of POSTGRES_VERSIONS) {
  for (const statement of [claimKeys, insertTriggers, insertReplies]) {
    test(`PostgreSQL ${version}: run×run: the second is told so at once (held after ${statement.name}), and then the answer`, async (t) => {
      const race = await createRace(t, version)
      const { s, client, first, second } = race
      const work = creates(race, await s.createJob())
      const held = first.holdAfter(statement)
      const running = run(first, work)
      await held.reached
      assert.deepEqual(await run(second, work), { kind: 'in_flight' })
      const other = { fingerprint: new TextEncoder().encode('POST /jobs?') }
      assert.deepEqual(await run(second, work, other), { kind: 'in_flight' })
      held.resume()
      assert.equal((await running).kind, 'done')
      assert.deepEqual(await run(second, work), { kind: 'repeated', reply })
      assert.deepEqual(await run(second, work, other), { kind: 'other_request' })
      assert.equal(await countOf(race, 'jobs'), 2)
      await assertWhole(client)
    })
  }

  test(`PostgreSQL ${version}: of 50 at once with one key, on two processes, one has its effect`, async (t) => {
    const race = await createRace(t, version)
    const { s, client, first, second } = race
    const work = creates(race, await s.createJob())
    const outcomes = await Promise.all(
      Array.from({ length: 50 }, (_, i) => run(i % 2 === 0 ? first : second, work)),
    )
    const kinds = Object.groupBy(outcomes, ({ kind }) => kind)
    assert.equal(kinds.done?.length, 1)
    assert.equal((kinds.repeated?.length ?? 0) + (kinds.in_flight?.length ?? 0), 49)
    assert.deepEqual(await run(second, work), { kind: 'repeated', reply })
    assert.deepEqual([await countOf(race, 'jobs'), await countOf(race, 'live')], [2, 1])
    await assertWhole(client)
  })

  for (const statement of [claimKeys, insertJobs, insertTriggers, insertReplies]) {
    test(`PostgreSQL ${version}: killed after ${statement.name}: neither effect nor answer, and the key is free`, async (t) => {
      const race = await createRace(t, version)
      const { s, client, first, second } = race
      const work = creates(race, await s.createJob())
      const before = await contentOf(race)
      const held = first.holdAfter(statement)
      const running = assert.rejects(run(first, work), Unavailable)
      await held.reached
      await killHeld(race)
      held.resume()
      await running
      assert.deepEqual(await contentOf(race), before)
      assert.equal((await run(second, work)).kind, 'done')
      assert.equal(await countOf(race, 'jobs'), 2)
      await assertWhole(client)
    })
  }

  test(`PostgreSQL ${version}: work that throws frees the key and leaves nothing, also when a store failed in it`, async (t) => {
    const race = await createRace(t, version)
    const { s, client, first, second } = race
    const like = await s.createJob()
    const work = creates(race, like)
    const before = await contentOf(race)
    const half: Work = async (stores) => {
      await work(stores)
      throw new Error('halfway')
    }
    const refused: Work = async (stores) => {
      await work(stores)
      // Two jobs with one id.
      await stores.jobs.create(like)
      return { value: '', reply }
    }
    const hushed: Work = async (stores) => {
      await stores.jobs.create(like).catch(() => {})
      return { value: '', reply }
    }
    await assert.rejects(run(first, half), /halfway/)
    await assert.rejects(run(first, refused), { code: '23505' })
    await assert.rejects(run(first, hushed))
    assert.deepEqual(await contentOf(race), before)
    assert.equal((await run(second, work)).kind, 'done')
    await assertWhole(client)
  })

  test(`PostgreSQL ${version}: a dry run leaves nothing, and keeps nobody out`, async (t) => {
    const race = await createRace(t, version)
    const { s, client, first, second } = race
    const job = await s.createJob({ overlapPolicy: 'ALLOW' })
    await s.fire(job, 0)
    await s.trigger(job)
    const before = await contentOf(race)
    const work: Work = async (stores) => {
      const done = await creates(race, job)(stores)
      await change(stores, job, pause())
      await change(stores, job, remove)
      return done
    }
    for (const once of [null, onceOf()]) {
      assert.equal((await first.requests.run({ once, dryRun: true }, work)).kind, 'done')
      assert.deepEqual(await contentOf(race), before)
    }
    const held = first.holdAfter(insertTriggers)
    const trying = first.requests.run({ once: null, dryRun: true }, creates(race, job))
    await held.reached
    assert.equal((await run(second, creates(race, job))).kind, 'done')
    held.resume()
    assert.equal((await trying).kind, 'done')
    await assertWhole(client)
  })

  test(`PostgreSQL ${version}: when the reply of the commit is lost, asking again gets the answer`, async (t) => {
    const race = await createRace(t, version)
    const { s, client, second } = race
    const work = creates(race, await s.createJob())
    await assert.rejects(run(openDeaf(t, race), work), Unavailable)
    assert.deepEqual(await run(second, work), { kind: 'repeated', reply })
    assert.deepEqual([await countOf(race, 'jobs'), await countOf(race, 'live')], [2, 1])
    await assertWhole(client)
  })

  test(`PostgreSQL ${version}: without a key, a write that was committed and got no reply is not written twice`, async (t) => {
    const race = await createRace(t, version)
    const { s, client } = race
    const job = await s.createJob()
    const { jobs } = openDeaf(t, race)
    const drafts = Array.from({ length: 5 }, () => ({ ...job, jobId: s.ids.next() }))
    const created = await Promise.allSettled(drafts.map((draft) => jobs.create(draft)))
    const order = { tenantId, jobId: job.jobId, lane: sharedLane }
    const triggered = await Promise.allSettled(
      Array.from({ length: 5 }, () => jobs.trigger({ ...order, executionId: s.ids.next() })),
    )
    for (const outcome of [...created, ...triggered]) {
      assert(outcome.status === 'rejected' && outcome.reason instanceof Unavailable)
    }
    assert.deepEqual([await countOf(race, 'jobs'), await countOf(race, 'live')], [6, 5])
    await assertWhole(client)
  })
}

// Creates and triggers under keys are committed together, each with its own answer.

const gathered = (
  { requests }: Pick<Session, 'requests'>,
  key: string,
  work: Work,
  jobId: string | null = null,
) => requests.run({ once: onceOf({ key }), dryRun: false, gather: { jobId } }, work)

/** So many at once: the first goes alone, the others together while it is written. */
const keysOf = (count: number) => Array.from({ length: count }, (_, i) => `key ${i}`)

for (const version of POSTGRES_VERSIONS) {
  test(`PostgreSQL ${version}: together: each key has its own effect and answer, also when one of them fails`, async (t) => {
    const race = await createRace(t, version)
    const { s, client, first, second } = race
    const work = creates(race, await s.createJob())
    const fail: Work = async (stores) => {
      await work(stores)
      throw new Error('not this one')
    }
    const settled = await Promise.allSettled(
      keysOf(20).map((key, i) => gathered(first, key, i === 7 ? fail : work)),
    )
    const failed = settled.flatMap((one, i) => (one.status === 'rejected' ? [[i, one.reason.message]] : []))
    assert.deepEqual(failed, [[7, 'not this one']])
    assert.deepEqual([await countOf(race, 'jobs'), await countOf(race, 'live')], [20, 19])
    for (const [i, key] of keysOf(20).entries()) {
      assert.equal((await gathered(second, key, work)).kind, i === 7 ? 'done' : 'repeated')
    }
    await assertWhole(client)
  })

  test(`PostgreSQL ${version}: together: the same key twice has one effect, and the other is told that it is under way`, async (t) => {
    const race = await createRace(t, version)
    const { s, first } = race
    const work = creates(race, await s.createJob())
    const outcomes = await Promise.all(['first', 'a', 'b', 'a', 'a'].map((key) => gathered(first, key, work)))
    const kinds = outcomes.map(({ kind }) => kind)
    assert.deepEqual(kinds, ['done', 'done', 'done', 'in_flight', 'in_flight'])
    assert.equal(await countOf(race, 'jobs'), 4)
  })

  for (const statement of [claimKeys, insertJobs, insertTriggers, insertReplies]) {
    test(`PostgreSQL ${version}: together, killed after ${statement.name}: nobody has effect or answer, and every key is free`, async (t) => {
      const race = await createRace(t, version)
      const { s, first, second } = race
      const work = creates(race, await s.createJob())
      const leading = first.holdAfter(insertReplies)
      const led = gathered(first, 'leading', work)
      await leading.reached
      const held = first.holdAfter(statement)
      const killed = Promise.allSettled(keysOf(5).map((key) => gathered(first, key, work)))
      leading.resume()
      await led
      await held.reached
      const before = await contentOf(race)
      await killHeld(race)
      held.resume()
      for (const outcome of await killed) {
        assert(outcome.status === 'rejected' && outcome.reason instanceof Unavailable)
      }
      assert.deepEqual(await contentOf(race), before)
      for (const key of keysOf(5)) assert.equal((await gathered(second, key, work)).kind, 'done')
    })
  }

  test(`PostgreSQL ${version}: together, the reply of the commit is lost: each key has its effect once, and its answer`, async (t) => {
    const race = await createRace(t, version)
    const { s, client, second } = race
    const work = creates(race, await s.createJob())
    const deaf = openDeaf(t, race)
    for (const outcome of await Promise.allSettled(keysOf(10).map((key) => gathered(deaf, key, work)))) {
      assert(outcome.status === 'rejected' && outcome.reason instanceof Unavailable)
    }
    for (const key of keysOf(10)) assert.equal((await gathered(second, key, work)).kind, 'repeated')
    assert.deepEqual([await countOf(race, 'jobs'), await countOf(race, 'live')], [11, 10])
    await assertWhole(client)
  })

  // A deadlock shows as a lock that is waited for too long: the server would look for one only after ten seconds.
  test(`PostgreSQL ${version}: together×trigger of the same jobs: neither waits for the other for ever`, async (t) => {
    const { s, first, second, waiting } = await createPatientRace(t, version)
    const jobs = [await s.createJob(), await s.createJob(), await s.createJob()] as const
    const orderOf = ({ jobId }: NewJob) => ({ tenantId, jobId, executionId: s.ids.next(), lane: sharedLane })
    const triggers =
      (job: NewJob): Work =>
      async (stores) => {
        assert.equal((await stores.jobs.trigger(orderOf(job))).kind, 'triggered')
        return { value: '', reply }
      }
    const leading = first.holdAfter(insertReplies)
    const requests = [gathered(first, 'leading', triggers(await s.createJob()))]
    await leading.reached
    // The later job is named first.
    for (const job of [jobs[2], jobs[0]]) requests.push(gathered(first, job.jobId, triggers(job), job.jobId))
    const held = first.holdAfter(insertTriggers)
    leading.resume()
    await held.reached
    const others = [jobs[1], jobs[0], jobs[2]].map((job) => second.jobs.trigger(orderOf(job)))
    await waiting()
    held.resume()
    for (const { kind } of await Promise.all(requests)) assert.equal(kind, 'done')
    for (const { kind } of await Promise.all(others)) assert.equal(kind, 'triggered')
  })
}

test('many clients that ask again and again with a few keys: each key has one effect', async (t) => {
  const race = await createRace(t)
  const { s, client, address } = race
  const like = await s.createJob()
  const keys = Array.from({ length: 40 }, (_, i) => `key ${i}`)
  const sessions = [openSession(t, address), openSession(t, address)]
  const answers = new Map<string, Set<string>>()
  const ask = (session: Session) => async () => {
    const key = keys[Math.floor(Math.random() * keys.length)]!
    const work: Work = async (stores) => {
      const { value } = await creates(race, like)(stores)
      if (Math.random() < 0.3) throw new Error('changed its mind')
      return { value, reply: { ...reply, body: JSON.stringify(value) } }
    }
    let outcome: RunOutcome<string>
    try {
      outcome = await run(session, work, { key })
    } catch (error) {
      assert.equal((error as Error).message, 'changed its mind')
      return
    }
    const known = answers.get(key) ?? new Set()
    answers.set(key, known)
    if (outcome.kind === 'done') known.add(JSON.stringify(outcome.value))
    if (outcome.kind === 'repeated') known.add(outcome.reply.body)
  }
  const errors = await hammer(
    1_500,
    sessions.flatMap((session) => Array.from({ length: 5 }, () => ask(session))),
  )
  assert.deepEqual(errors, [])
  for (const [key, known] of answers) assert(known.size <= 1, key)
  const { rowCount } = await client.query('SELECT FROM idempotency_keys')
  assert.equal(await countOf(race, 'jobs'), 1 + rowCount!)
  await assertWhole(client)
})
