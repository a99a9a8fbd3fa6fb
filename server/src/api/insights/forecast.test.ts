import assert from 'node:assert/strict'
import test from 'node:test'
import { assertProblem, setupApp } from '../../../test/app.ts'
import type { PlannedQuery } from '../../ports/planned-jobs.ts'

const daily = {
  name: 'report',
  schedule: { type: 'CRON', cron_expression: '0 9 * * *' },
  execution: { callback_url: 'https://example.com/report' },
}

test('a forecast has the slots of the next hours and their peak', async (t) => {
  const { call } = await setupApp(t)
  const jobId = (await call('POST', '/jobs', daily)).json().job_id
  const { from, counts, peaks, as_of: asOf, ...rest } = (await call('GET', '/forecast')).json()
  assert.deepEqual(rest, { step_seconds: 600, jobs_seen: 1, complete: true })
  assert.equal(counts.length, 144)
  assert.equal(
    counts.reduce((all: number, count: number) => all + count, 0),
    1,
  )
  const [{ at, ...peak }, ...more] = peaks
  assert.match(at, /T09:00:00Z$/)
  assert.deepEqual([peak, more], [{ count: 1, jobs: [{ job_id: jobId, name: 'report' }] }, []])
  assert(from <= asOf)
  assert.equal((await call('GET', '/forecast?hours=168')).json().counts.length, 1_008)
})

test('a forecast is cached for a minute, and made once for all simultaneous requests', async (t) => {
  const asked: PlannedQuery[] = []
  const plannedJobs = {
    async listPlanned(query: PlannedQuery) {
      asked.push(query)
      return []
    },
  }
  const { call, world } = await setupApp(t, { plannedJobs })
  await Promise.all([call('GET', '/forecast'), call('GET', '/forecast'), call('GET', '/forecast')])
  await call('GET', '/forecast')
  assert.equal(asked.length, 1)
  await world.advance(61_000)
  await call('GET', '/forecast')
  assert.equal(asked.length, 2)
})

test('a forecast looks at 20,000 jobs and says that there are more', async (t) => {
  const { memory } = await setupApp(t)
  const now = memory.store.now()
  const schedule = { type: 'CRON', cron_expression: '0 9 * * *' } as const
  const job = { name: 'report', schedule, anchorAt: now, slotAt: now, runs: 0, calendars: null }
  const plannedJobs = {
    listPlanned: async ({ after, limit }: PlannedQuery) => {
      const first = after === null ? 0 : Number(after) + 1
      return Array.from({ length: limit }, (_, n) => ({ ...job, jobId: String(first + n) }))
    },
  }
  const { call } = await setupApp(t, { plannedJobs })
  const { jobs_seen: seen, complete, counts } = (await call('GET', '/forecast')).json()
  assert.deepEqual([seen, complete], [20_000, false])
  assert.equal(Math.max(...counts), 20_000)
})

test('a forecast contains only jobs of its tenant', async (t) => {
  const { call } = await setupApp(t)
  await call('POST', '/jobs', daily)
  const tenant = (await call('POST', '/tenants', { name: 'other', tier: 'free' })).json()
  const headers = { 'x-tenant-id': tenant.tenant_id }
  assert.equal((await call('GET', '/forecast')).json().jobs_seen, 1)
  assert.equal((await call('GET', '/forecast', undefined, headers)).json().jobs_seen, 0)
  assertProblem(await call('GET', '/forecast?hours=169'), 'INVALID_REQUEST', 'hours')
})
