// Three jobs share a key, of every policy, while slots fire, people trigger, cancel and edit the limit, workers claim,
// finish and die, and three processes let go: at every commit no more hold the key than may.
import assert from 'node:assert/strict'
import test from 'node:test'
import { sharedLane } from '../../src/domain/queue/lane.ts'
import { serverRoute } from '../../src/domain/queue/route.ts'
import { defaultTenantId as tenantId } from '../../src/domain/tenants/tenant.ts'
import type { NewJob } from '../../src/ports/jobs.ts'
import type { Claimed, Ending } from '../../src/ports/queue.ts'
import { change, edit } from '../conformance/jobs/changes.ts'
import { POSTGRES_VERSIONS } from '../database.ts'
import { assertWhole } from './invariants.ts'
import { createRace, hammer, openSession, releaseAll, rollDice, type Session } from './sessions.ts'

type LiveEnding = Exclude<Ending, { kind: 'running' }>

for (const version of POSTGRES_VERSIONS) {
  test(`PostgreSQL ${version}: a key of limit 2 that three jobs share, hammered from six sessions`, async (t) => {
    const { s, client, address } = await createRace(t, version)
    const dice = rollDice(t)
    // Checked as each release commits: the last execution to get the key found room under its own limit.
    await client.query(`
      CREATE TABLE most (held integer);
      CREATE FUNCTION watch_key() RETURNS trigger LANGUAGE plpgsql AS $$
      DECLARE
        now_held integer;
        allowed integer;
      BEGIN
        SELECT count(*), max(key_limit) INTO now_held, allowed FROM live
        WHERE concurrency_key = NEW.concurrency_key AND state <> 'waiting';
        INSERT INTO most VALUES (now_held);
        IF now_held > allowed THEN RAISE 'held by % of %', now_held, allowed; END IF;
        RETURN NULL;
      END $$;
      CREATE CONSTRAINT TRIGGER watch_key AFTER INSERT OR UPDATE ON live DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW WHEN (NEW.concurrency_key IS NOT NULL AND NEW.state = 'ready') EXECUTE FUNCTION watch_key()`)
    const key = (limit: number) => ({ key: 'vendor', limit })
    const jobs: NewJob[] = []
    for (const overlapPolicy of ['ALLOW', 'BUFFER_ALL', 'CANCEL_RUNNING'] as const)
      jobs.push(await s.createJob({ overlapPolicy, concurrencyKey: key(2) }))
    const jobIds = jobs.map(({ jobId }) => jobId)
    const inFlight = new Map<string, Claimed>()
    const versions = new Map(jobIds.map((jobId) => [jobId, 1]))
    let second = 0

    const ending = (): LiveEnding =>
      dice.pick<() => LiveEnding>([
        () => s.succeeded(),
        () => s.succeeded(),
        () => s.failedForNow(),
        () => ({ kind: 'unstarted', host: null }),
      ])()
    const moves = {
      async fire({ slots }: Session) {
        const at = ++second % 590
        const items = jobs.map((job) => s.slotOf(job, at, { version: versions.get(job.jobId)! }))
        await slots.fire(items)
      },
      async trigger({ jobs: port }: Session) {
        const jobId = dice.pick(jobIds)
        await port.trigger({ tenantId, jobId, executionId: s.ids.next(), lane: sharedLane })
      },
      release: (session: Session) => releaseAll(session, dice.shuffle(jobIds).slice(0, dice.between(1, 3))),
      async claim({ queue }: Session) {
        const workerId = await s.addWorker()
        const lanes = [{ lane: sharedLane, count: dice.between(1, 3) }]
        try {
          const order = { workerId, routes: [serverRoute], lanes, hosts: [], batchesMax: 5 }
          const claimed = await queue.claim(order)
          if (claimed.live.length > 0) inFlight.set(workerId, claimed)
          else await s.leases.unregister(workerId)
        } catch (error) {
          // Declared dead before its first claim: a claim in flight then meets this error.
          assert.equal((error as { code?: string }).code, '23503')
        }
      },
      async finish({ queue }: Session) {
        const [workerId, claimed] = dice.pick([...inFlight]) ?? []
        if (workerId === undefined || claimed === undefined) return
        inFlight.delete(workerId)
        await queue.finishLive(
          workerId,
          claimed.live.map((one) => ({ ...one, ending: ending() })),
        )
      },
      async cancel({ control }: Session) {
        const { rows } = await client.query<{ execution_id: string }>(
          'SELECT execution_id FROM live ORDER BY random() LIMIT 1',
        )
        const executionId = rows[0]?.execution_id
        if (executionId !== undefined && dice.chance(0.3))
          await control.cancel({ tenantId, executionId, message: 'no' })
      },
      async reclaim({ maintenance }: Session) {
        const lease = dice.pick(await maintenance.watch())
        if (lease !== undefined && dice.chance(0.3)) await maintenance.reclaim(lease)
      },
      wake: ({ maintenance }: Session) => maintenance.wake(100),
      async edit(session: Session) {
        if (!dice.chance(0.1)) return
        const job = dice.pick(jobs)
        const view = await change(session, job, edit({ concurrencyKey: key(dice.between(1, 3)) }))
        versions.set(job.jobId, Math.max(view.version, versions.get(job.jobId)!))
      },
    }
    const look = async () => {
      const { rows } = await client.query(`SELECT count(*)::int AS held, max(key_limit) AS allowed FROM live
        WHERE concurrency_key = 'vendor' AND state <> 'waiting' HAVING count(*) > max(key_limit)`)
      assert.deepEqual(rows, [])
    }
    const sessions = Array.from({ length: 6 }, () => openSession(t, address))
    // Moves that free and take capacity come more often than moves that disturb them.
    const { release, claim, finish, ...others } = moves
    const turns = [release, release, release, claim, claim, finish, finish, ...Object.values(others)]
    const actors = sessions.map((session) => () => dice.pick(turns)(session))
    assert.deepEqual(await hammer(6_000, [...actors, look]), [])
    await assertWhole(client)
    const { rows } = await client.query('SELECT max(held) AS most, count(*)::int AS times FROM most')
    t.diagnostic(`let go ${rows[0].times} times, at most ${rows[0].most} at once`)
    assert(rows[0].most >= 2 && rows[0].most <= 3, 'the limit was reached and kept')
  })
}
