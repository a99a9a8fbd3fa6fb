// Dependencies that change while others change, and while the jobs fire, are triggered and deleted: the second write
// decides about the graphs as they were committed before.
import assert from 'node:assert/strict'
import test from 'node:test'
import { type GraphRefusal, isGraphRefusal } from '../../src/domain/graphs/graph.ts'
import { isActiveJobsRefusal } from '../../src/domain/jobs/active-jobs.ts'
import { partitionsCount } from '../../src/domain/jobs/job.ts'
import { sharedLane } from '../../src/domain/queue/lane.ts'
import { defaultTenantId as tenantId } from '../../src/domain/tenants/tenant.ts'
import type { ChangeOutcome, CreateOutcome, NewJob } from '../../src/ports/jobs.ts'
import type { RequestTerms } from '../../src/ports/requests.ts'
import { lockGraphJobs, lockTenantGraphs, writeGraph } from '../../src/postgres/graphs/job-graph.sql.ts'
import { writeJob } from '../../src/postgres/jobs/change-job.sql.ts'
import { insertTriggers, lockFreeJobs } from '../../src/postgres/jobs/triggers.sql.ts'
import { fireSlots } from '../../src/postgres/scheduling/fire-slots.sql.ts'
import { edit, remove } from '../conformance/jobs/changes.ts'
import { POSTGRES_VERSIONS } from '../database.ts'
import { assertWhole } from './invariants.ts'
import { createPatientRace, hammer, openSession, type Race, rollDice, type Session } from './sessions.ts'

const after = (...jobs: NewJob[]) => jobs.map(({ jobId }) => ({ jobId, on: 'success' }) as const)

const depend = ({ jobs }: Pick<Session, 'jobs'>, { jobId }: NewJob, ...parents: NewJob[]) =>
  jobs.change({ tenantId, jobId, dependsOn: after(...parents) }, edit({ dependsOn: after(...parents) }))

const drop = ({ jobs }: Pick<Session, 'jobs'>, { jobId }: NewJob) =>
  jobs.change({ tenantId, jobId, dependsOn: [] }, remove)

/** Like another job, after others, and not created yet. */
const draft = ({ s }: Race, like: NewJob, ...parents: NewJob[]): NewJob => ({
  ...like,
  jobId: s.ids.next(),
  slotAt: null,
  dependsOn: after(...parents),
})

function kindOf(outcome: ChangeOutcome | CreateOutcome): string {
  if (typeof outcome === 'string') return outcome
  assert(!isActiveJobsRefusal(outcome))
  return isGraphRefusal(outcome) ? outcome.kind : outcome.status
}

async function graphOf({ client }: Race, { jobId }: NewJob): Promise<string | null> {
  const { rows } = await client.query('SELECT graph_id FROM cursors WHERE job_id = $1', [jobId])
  return rows[0].graph_id
}

async function fire({ s }: Race, { slots }: Session, job: NewJob, graphId: string | null): Promise<string> {
  const run = { graphId, runId: graphId === null ? null : s.ids.next(), ownRow: graphId !== null }
  const [answer] = await slots.fire([s.slotOf(job, 0, run)])
  return answer?.answer ?? 'fired'
}

const allPartitions = Array.from({ length: partitionsCount }, (_, id) => id)

for (const version of POSTGRES_VERSIONS) {
  const race = (title: string, body: (given: Race) => Promise<void>) =>
    test(`PostgreSQL ${version}: ${title}`, async (t) => {
      const given = await createPatientRace(t, version)
      await body(given)
      await assertWhole(given.client)
    })

  for (const statement of [lockTenantGraphs, lockGraphJobs, writeGraph]) {
    for (const isTurned of [false, true]) {
      const order = isTurned ? 'the younger first' : 'the older first'
      race(`edit×edit, held after ${statement.name}, ${order}: no cycle of two`, async (given) => {
        const { s, first, second, waiting } = given
        const made = [await s.createJob({ name: 'a' }), await s.createJob({ name: 'b' })]
        const [one, other] = isTurned ? made.toReversed() : made
        const held = first.holdAfter(statement)
        const early = depend(first, one!, other!)
        await held.reached
        const late = depend(second, other!, one!)
        await waiting()
        held.resume()
        assert.equal(kindOf(await early), 'ACTIVE')
        const refused = (await late) as Extract<GraphRefusal, { kind: 'cycle' }>
        assert.deepEqual(
          [refused.kind, refused.path.map(({ name }) => name).join(' ')],
          ['cycle', `${other!.name} ${one!.name} ${other!.name}`],
        )
      })
    }
  }

  race('create×edit: a cycle over a job that is just made', async (given) => {
    const { s, first, second, waiting } = given
    const root = await s.createJob()
    const middle = draft(given, root, root)
    const held = first.holdAfter(writeGraph)
    const creating = first.jobs.create(middle)
    await held.reached
    const late = depend(second, root, middle)
    await waiting()
    held.resume()
    assert.deepEqual([await creating, kindOf(await late)], ['created', 'cycle'])
  })

  race('edit×edit of graphs that have nothing to do with each other: both are made', async (given) => {
    const { s, first, second, waiting } = given
    const [a, b, c, d] = await Promise.all([1, 2, 3, 4].map(() => s.createJob()))
    const held = first.holdAfter(writeGraph)
    const early = depend(first, b!, a!)
    await held.reached
    const late = depend(second, d!, c!)
    await waiting()
    held.resume()
    assert.deepEqual([kindOf(await early), kindOf(await late)], ['ACTIVE', 'ACTIVE'])
    assert.notEqual(await graphOf(given, a!), await graphOf(given, c!))
  })

  race('edge×delete of the parent: it came into a graph, and is not deleted', async (given) => {
    const { s, first, second, waiting } = given
    const parent = await s.createJob()
    const child = draft(given, parent, parent)
    const held = first.holdAfter(writeGraph)
    const creating = first.jobs.create(child)
    await held.reached
    const deleting = drop(second, parent)
    await waiting()
    held.resume()
    const jobs = [{ jobId: child.jobId, name: child.name }]
    assert.deepEqual([await creating, await deleting], ['created', { kind: 'has_dependents', jobs }])
  })

  race(
    'edge×delete of the parent under an idempotency key, or in a dry run: it begins anew, and is not deleted',
    async (given) => {
      const { s, first, second, waiting } = given
      const parent = await s.createJob()
      const held = first.holdAfter(writeGraph)
      const creating = first.jobs.create(draft(given, parent, parent))
      await held.reached
      const once = { tenantId, key: 'request', fingerprint: new Uint8Array(32) }
      const reply = { status: 200, headers: {}, body: '{}' }
      const run = (terms: Pick<RequestTerms, 'once' | 'dryRun'>) =>
        second.requests.run(terms, async ({ jobs }) => ({
          value: kindOf(await drop({ jobs } as Session, parent)),
          reply,
        }))
      const deleting = [run({ once, dryRun: false }), run({ once: null, dryRun: true })]
      await waiting(2)
      held.resume()
      assert.equal(await creating, 'created')
      const refused = { kind: 'done', value: 'has_dependents' }
      assert.deepEqual(await Promise.all(deleting), [refused, refused])
    },
  )

  race('delete of the parent×edge: there is nothing to depend on', async (given) => {
    const { s, first, second, waiting } = given
    const [parent, job] = [await s.createJob(), await s.createJob()]
    const held = first.holdAfter(writeJob)
    const deleting = drop(first, parent)
    await held.reached
    const late = [depend(second, job, parent), second.jobs.create(draft(given, job, parent))]
    await waiting(2)
    held.resume()
    assert.equal(kindOf(await deleting), 'DELETED')
    assert.deepEqual((await Promise.all(late)).map(kindOf), ['unknown_parent', 'unknown_parent'])
    assert.equal(await graphOf(given, job), null)
  })

  race(
    'delete of the last child×edge to the same parent: the graph is that of the new one',
    async (given) => {
      const { s, first, second, waiting } = given
      const [parent, job] = [await s.createJob(), await s.createJob()]
      const child = draft(given, parent, parent)
      assert.equal(await first.jobs.create(child), 'created')
      const held = first.holdAfter(writeGraph)
      const deleting = drop(first, child)
      await held.reached
      const late = depend(second, job, parent)
      await waiting()
      held.resume()
      assert.deepEqual([kindOf(await deleting), kindOf(await late)], ['DELETED', 'ACTIVE'])
      assert.equal(await graphOf(given, parent), parent.jobId)
    },
  )

  race('edge×edit that wants none: who looked before it begins anew and takes it away', async (given) => {
    const { s, first, second, waiting } = given
    const [parent, job] = [await s.createJob(), await s.createJob()]
    const held = first.holdAfter(writeGraph)
    const early = depend(first, job, parent)
    await held.reached
    const late = depend(second, job)
    await waiting()
    held.resume()
    assert.deepEqual([kindOf(await early), kindOf(await late)], ['ACTIVE', 'ACTIVE'])
    assert.deepEqual((await s.jobs.get(tenantId, job.jobId))!.dependsOn, [])
    assert.equal(await graphOf(given, parent), null)
  })

  race('edit×edit of the rule of one dependency: the later one stands', async (given) => {
    const { s, client, first, second, waiting } = given
    const [parent, job] = [await s.createJob(), await s.createJob()]
    const held = first.holdAfter(writeGraph)
    const early = depend(first, job, parent)
    await held.reached
    const dependsOn = [{ jobId: parent.jobId, on: 'failure' } as const]
    const late = second.jobs.change({ tenantId, jobId: job.jobId, dependsOn }, edit({ dependsOn }))
    await waiting()
    held.resume()
    assert.deepEqual([kindOf(await early), kindOf(await late)], ['ACTIVE', 'ACTIVE'])
    assert.deepEqual((await client.query('SELECT rule FROM job_edges')).rows, [{ rule: 'failure' }])
  })

  for (const statement of [lockGraphJobs, writeGraph]) {
    race(`edge×fire of the parent, held after ${statement.name}: it fires into the graph`, async (given) => {
      const { s, first, second } = given
      const parent = await s.createJob()
      const held = first.holdAfter(statement)
      const creating = first.jobs.create(draft(given, parent, parent))
      await held.reached
      assert.equal(await fire(given, second, parent, null), 'busy')
      held.resume()
      assert.equal(await creating, 'created')
      assert.equal(await fire(given, second, parent, null), 'stale')
      const [cursor] = await second.slots.takeChanges(allPartitions, 10)
      assert.equal(cursor!.graphId, parent.jobId)
      assert.equal(await fire(given, second, parent, cursor!.graphId), 'fired')
    })
  }

  race('fire of the parent×edge: what fired before runs alone', async (given) => {
    const { s, client, first, second, waiting } = given
    const parent = await s.createJob()
    const held = first.holdAfter(fireSlots)
    const firing = fire(given, first, parent, null)
    await held.reached
    const creating = second.jobs.create(draft(given, parent, parent))
    await waiting()
    held.resume()
    assert.deepEqual([await firing, await creating], ['fired', 'created'])
    assert.equal((await client.query('SELECT FROM run_roots')).rowCount, 0)
    assert.equal((await client.query('SELECT FROM batches')).rowCount, 1)
  })

  const triggerOf = ({ s }: Race, { jobs }: Session, { jobId }: NewJob) =>
    jobs.trigger({ tenantId, jobId, executionId: s.ids.nextBatch(), lane: sharedLane })

  race('edge×trigger of the parent: it waits, and starts a run', async (given) => {
    const { s, client, first, second, waiting } = given
    const parent = await s.createJob()
    const held = first.holdAfter(writeGraph)
    const creating = first.jobs.create(draft(given, parent, parent))
    await held.reached
    const triggering = triggerOf(given, second, parent)
    await waiting()
    held.resume()
    assert.equal(await creating, 'created')
    const triggered = await triggering
    assert(triggered.kind === 'triggered')
    const { rows } = await client.query('SELECT run_id, execution_id, job_id FROM run_roots')
    assert.deepEqual(rows, [{ run_id: triggered.runId, execution_id: triggered.runId, job_id: parent.jobId }])
  })

  for (const statement of [lockFreeJobs, insertTriggers]) {
    race(`trigger of the parent×edge, held after ${statement.name}: it runs alone`, async (given) => {
      const { s, client, first, second, waiting } = given
      const parent = await s.createJob()
      const held = first.holdAfter(statement)
      const triggering = triggerOf(given, first, parent)
      await held.reached
      const creating = second.jobs.create(draft(given, parent, parent))
      await waiting()
      held.resume()
      const triggered = await triggering
      assert(triggered.kind === 'triggered')
      assert.deepEqual([triggered.runId, await creating], [null, 'created'])
      assert.equal((await client.query('SELECT FROM run_roots')).rowCount, 0)
    })
  }

  test(`PostgreSQL ${version}: dependencies of a few jobs can be created, changed and deleted by many people at once`, async (t) => {
    const given = await createPatientRace(t, version)
    const { s, client, address } = given
    const dice = rollDice(t)
    const jobs: NewJob[] = []
    for (let n = 0; n < 12; n++) jobs.push(await s.createJob({ name: `job ${n}` }))
    const some = (count: number) => dice.shuffle(jobs).slice(0, count)
    const outcomes: Record<string, number> = {}
    const told = async (outcome: Promise<ChangeOutcome | CreateOutcome>): Promise<string> => {
      const kind = kindOf(await outcome)
      outcomes[kind] = (outcomes[kind] ?? 0) + 1
      return kind
    }
    // No more than there are now, so that graphs meet.
    const replace = (gone: NewJob, by: NewJob) => jobs.splice(jobs.indexOf(gone), 1, by)
    const moves = {
      edit: (session: Session) => {
        const [job, ...parents] = some(dice.between(1, 3))
        return told(depend(session, job!, ...parents))
      },
      async create(session: Session) {
        const [like, ...parents] = some(dice.between(2, 4))
        const job = draft(given, like!, ...parents)
        if ((await told(session.jobs.create(job))) === 'created') replace(dice.pick(jobs), job)
      },
      async drop(session: Session) {
        const gone = dice.pick(jobs)
        const fresh = { ...gone, jobId: s.ids.next(), dependsOn: [], slotAt: s.at(0) }
        if ((await told(drop(session, gone))) !== 'DELETED') return
        if ((await session.jobs.create(fresh)) === 'created' && jobs.includes(gone)) replace(gone, fresh)
      },
      fire: (session: Session) => fire(given, session, dice.pick(jobs), null),
      trigger: (session: Session) => Promise.all(some(3).map((job) => triggerOf(given, session, job))),
    }
    const errors = await hammer(
      2_500,
      [1, 2].flatMap(() => {
        const session = openSession(t, address)
        return Object.values(moves).map((move) => () => move(session))
      }),
    )
    assert.deepEqual(errors, [])
    await assertWhole(client)
    t.diagnostic(JSON.stringify(outcomes))
  })
}
