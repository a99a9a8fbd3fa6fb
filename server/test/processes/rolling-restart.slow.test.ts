// Every process of a fleet is stopped and started anew under load, one after the other: no slot is missed, nothing is
// called twice, nothing is lost.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { realTimers } from '../../src/lib/time/timers.ts'
import { cleanUp } from '../cleanup.ts'
import { until } from '../e2e/api.ts'
import { startReceiver } from '../e2e/receiver.ts'
import { createFleet, type Fleet, fleetKey, type Process, untilHeldBy, withTime } from './fleet.ts'

const jobsCount = 50
/** Calls are under way whenever a worker is told to stop. */
const answerMs = 150

test(
  'a rolling restart of every process under load misses no slot, doubles nothing and loses nothing',
  withTime,
  async (t) => {
    const fleet = await createFleet(t)
    const receiver = await startReceiver(t, {
      answer: (_call, response) => void realTimers.schedule(answerMs, () => response.end('{}')),
    })
    const roles = ['api', 'api', 'scheduler', 'scheduler', 'worker', 'worker']
    const processes = await Promise.all(roles.map((role) => fleet.start(role)))
    await untilHeldBy(fleet, 2)
    const { api } = processes[0]!
    const jobs: string[] = []
    for (let i = 0; i < jobsCount; i++) jobs.push(await createJob(api, receiver.url, '* * * * * *'))
    const onDemand = await createJob(api, receiver.url, '@yearly')
    const from = await databaseNow(fleet)
    await until(() => (receiver.calls.length > jobsCount ? true : null), 'they fire')
    const driver = drive(t, onDemand, () => processes.flatMap(({ url }) => url ?? []))

    for (const [i, role] of roles.entries()) {
      const calls = receiver.calls.length
      await processes[i]!.stop()
      await until(() => (receiver.calls.length > calls ? true : null), 'the others go on')
      processes[i] = await fleet.start(role)
      await untilHeldBy(fleet, 2)
    }

    const acknowledged = await driver.stop()
    const to = await databaseNow(fleet)
    await Promise.all(jobs.map((id) => pause(processes[0]!, id)))
    await untilAllEnded(fleet)
    await assertEverySlot(fleet, { jobs, from, to })
    await assertOneEach(fleet)
    const { rows } = await fleet.client.query<{ execution_id: string }>(
      `SELECT execution_id FROM attempts WHERE final AND job_id = $1`,
      [onDemand],
    )
    assert.deepEqual(rows.map((row) => row.execution_id).toSorted(), acknowledged.toSorted())
    const keys = receiver.calls.map(({ headers }) => headers['x-idempotency-key'])
    assert.equal(keys.length, new Set(keys).size, 'no callback is called twice')
    const ended = await fleet.client.query(`SELECT count(*)::int AS n FROM attempts WHERE final`)
    assert.equal(
      keys.length,
      ended.rows[0].n,
      'each call is of an execution on record, and the other way round',
    )
    for (const { program } of processes) assert.doesNotMatch(program.stderr, /declared dead|was refused/)
  },
)

async function createJob(api: Process['api'], url: string, schedule: string): Promise<string> {
  const execution = { callback_url: url }
  const request = { name: 'tick', schedule, overlap_policy: 'ALLOW', execution }
  return (await api.post<{ job_id: string }>('/jobs', request, 201)).job_id
}

async function pause({ url }: Process, jobId: string): Promise<void> {
  const headers = { authorization: `Bearer ${fleetKey}` }
  const response = await fetch(`${url}/api/v1/jobs/${jobId}/pause`, { method: 'PATCH', headers })
  assert.equal(response.status, 200, await response.text())
}

async function databaseNow({ client }: Fleet): Promise<string> {
  return (await client.query<{ at: string }>('SELECT clock_timestamp()::text AS at')).rows[0]!.at
}

/** Triggers the job again and again, at whichever API answers, until it is stopped; each trigger until it is acknowledged. */
function drive(t: TestContext, jobId: string, urls: () => string[]) {
  let stopped = false
  const acknowledged: string[] = []
  const done = (async () => {
    for (let i = 0; !stopped; i++) {
      acknowledged.push(await until(() => triggerAnywhere(i), 'an API takes a trigger'))
      await realTimers.wait(50)
    }
  })()
  async function triggerAnywhere(i: number): Promise<string | null> {
    for (const url of urls()) {
      const response = await fetch(`${url}/api/v1/jobs/${jobId}/trigger`, {
        method: 'POST',
        // The same one until it is acknowledged: an answer that was lost is not a second execution.
        headers: { authorization: `Bearer ${fleetKey}`, 'idempotency-key': `trigger-${i}` },
      }).catch(() => null)
      if (response?.status === 503) await response.body?.cancel()
      else if (response !== null) {
        assert.equal(response.status, 202, await response.clone().text())
        return ((await response.json()) as { execution_id: string }).execution_id
      }
    }
    return null
  }
  const stop = async () => {
    stopped = true
    await done
    return acknowledged
  }
  cleanUp(t, () => {
    stopped = true
    return done.catch(() => {})
  })
  return { stop }
}

async function untilAllEnded({ client }: Fleet): Promise<void> {
  await until(async () => {
    const { rows } = await client.query(
      `SELECT (SELECT count(*) FROM batches) + (SELECT count(*) FROM live) + (SELECT count(*) FROM catchups) AS n`,
    )
    return Number(rows[0].n) === 0 ? true : null
  }, 'all has ended')
}

/** Of every second that a job was there for: one execution, or one range of skips that has it, and none because it was late. */
async function assertEverySlot(
  { client }: Fleet,
  { jobs, from, to }: { jobs: string[]; from: string; to: string },
) {
  const { rows } = await client.query(
    `SELECT j AS job_id, s AS slot, e.n AS executions, k.n AS skips
     FROM unnest($1::uuid[]) j
     CROSS JOIN generate_series(date_trunc('second', $2::timestamptz) + interval '1 s', $3::timestamptz, interval '1 s') s
     CROSS JOIN LATERAL (SELECT count(*)::int AS n FROM slots x WHERE x.job_id = j AND x.slot = s AND x.reason IS NULL) e
     CROSS JOIN LATERAL (SELECT count(*)::int AS n FROM skips x WHERE x.job_id = j AND s BETWEEN x.from_slot AND x.to_slot) k
     WHERE e.n + k.n <> 1`,
    [jobs, from, to],
  )
  assert.deepEqual(rows, [], 'every slot has one execution or one recorded skip')
  const misfired = await client.query(`SELECT * FROM skips WHERE reason NOT IN ('paused')`)
  assert.deepEqual(misfired.rows, [], 'none was skipped for being late')
}

/** Of every execution: one final record, which succeeded; and no attempt that was lost on the way. */
async function assertOneEach({ client }: Fleet): Promise<void> {
  const { rows } = await client.query(
    `SELECT x.execution_id, array_agg(a.outcome) AS outcomes FROM (
       SELECT execution_id FROM slots WHERE reason IS NULL UNION SELECT execution_id FROM attempts) x
     LEFT JOIN attempts a USING (execution_id)
     GROUP BY 1 HAVING count(a.final) FILTER (WHERE a.final) <> 1 OR array_agg(a.outcome) <> ARRAY['succeeded']`,
  )
  assert.deepEqual(rows, [])
}
