import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { useDatabase } from '../../../test/database.ts'
import { UuidV7 } from '../../lib/id.ts'
import { realRandom } from '../../lib/random.ts'
import type { Sql } from '../../lib/sql.ts'
import { epochMs } from '../../lib/time/epoch.ts'
import { dayMs, hourMs } from '../../lib/time/units.ts'
import type { Queries } from '../connection/database.ts'
import { LatestEnded } from './latest-ended.ts'

async function setup(t: TestContext) {
  const { client, database } = await useDatabase(t)
  const nowMs = Date.now()
  /** How many jobs each statement was asked for, and how many days of history. */
  const asked: [jobs: number, days: number][] = []
  const queries: Queries = {
    query(statement: Sql, values) {
      const [jobIds, days] = values as [string[], number]
      asked.push([jobIds.length, days])
      return database.query(statement, values)
    },
  }
  const latest = new LatestEnded()
  /** Makes an execution that was made and ended so long ago; returns its id. */
  async function end(
    jobId: string,
    madeMs: number,
    endedMs = madeMs,
    outcome = 'succeeded',
  ): Promise<string> {
    const [made, ended] = [madeMs, endedMs].map((ms) => new Date(nowMs - ms).toISOString())
    const executionId = new UuidV7(() => epochMs(nowMs - madeMs), realRandom).next()
    await client.query(`SELECT make_day('attempts', ($1::timestamptz AT TIME ZONE 'UTC')::date)`, [ended])
    await client.query(
      `INSERT INTO attempts (recorded_at, tenant_id, job_id, version, execution_id, attempt, final, kind, outcome, slot,
        enqueued_at, finished_at)
      SELECT $1, tenant_id, $2, 1, $3, 0, true, 'slot', $4, $5, $5, $1 FROM tenants LIMIT 1`,
      [ended, jobId, executionId, outcome, made],
    )
    return executionId
  }
  const find = async (jobIds: readonly string[]) => {
    const found = await latest.find(queries, jobIds)
    return jobIds.map((jobId) => found.get(jobId)?.execution_id ?? null)
  }
  const newIds = new UuidV7(() => epochMs(nowMs), realRandom)
  return { asked, end, find, newJobId: () => newIds.next() }
}

test('the latest is found, however long ago it ended, and regardless of ends before or after it', async (t) => {
  const s = await setup(t)
  const [young, old, never, slow] = [s.newJobId(), s.newJobId(), s.newJobId(), s.newJobId()]
  await s.end(young, 40 * dayMs)
  const latestOfYoung = await s.end(young, hourMs, 0, 'skipped')
  const latestOfOld = await s.end(old, 30 * dayMs, 30 * dayMs, 'cancelled')
  await s.end(old, 31 * dayMs)
  // It ran for days: one that was made after it has ended long before it.
  await s.end(slow, 9 * dayMs, hourMs)
  const latestOfSlow = await s.end(slow, 8 * dayMs)
  const jobIds = [young, old, never, slow]
  for (let times = 0; times < 2; times++)
    assert.deepEqual(await s.find(jobIds), [latestOfYoung, latestOfOld, null, latestOfSlow])
})

test('an execution that ends after all of the history was searched is found', async (t) => {
  const s = await setup(t)
  const [old, never, slow] = [s.newJobId(), s.newJobId(), s.newJobId()]
  const before = await s.end(old, 30 * dayMs)
  assert.deepEqual(await s.find([old, never, slow]), [before, null, null])
  const after = [await s.end(old, 0), await s.end(never, hourMs, 0), await s.end(slow, 9 * dayMs, 0)]
  assert.deepEqual(await s.find([old, never, slow]), after)
})

test('all of the history is looked through once for a job, and for some jobs at a time', async (t) => {
  const s = await setup(t)
  const jobIds = Array.from({ length: 450 }, () => s.newJobId())
  await s.find(jobIds)
  const days = s.asked[1]![1]
  assert(days > 365)
  assert.deepEqual(s.asked.splice(0), [
    [450, 2],
    [200, days],
    [200, days],
    [50, days],
  ])
  const more = s.newJobId()
  await s.find([...jobIds, more])
  assert.deepEqual(s.asked, [
    [451, 2],
    [1, days],
  ])
})
