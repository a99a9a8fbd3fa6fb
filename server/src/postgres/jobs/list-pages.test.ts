// Lists of jobs with payloads as large as they may be: 200 times 256 KB.
import assert from 'node:assert/strict'
import test from 'node:test'
import { pageBytesMax } from '@carillon/contract/constants.ts'
import { useDatabase } from '../../../test/database.ts'
import { defaultTenantId } from '../../domain/tenants/tenant.ts'
import type { ListedJob } from '../../ports/jobs.ts'
import { leanPage, type PageContent } from '../../ports/pages.ts'
import { PostgresJobs } from './jobs.ts'

/** $1: how many, $2: the payload, of which no byte can be compressed away. */
const insertJobs = `
  WITH job AS (
    INSERT INTO jobs (job_id, tenant_id, version, created_at, updated_at, name, tags, search)
    SELECT md5(n::text)::uuid, '${defaultTenantId}', 1, now(), now(), 'a', '{}', 'a' FROM generate_series(1, $1) AS n
    RETURNING *
  ), version AS (
    INSERT INTO job_versions (job_id, version, tenant_id, name, tags, schedule, anchor_at, execution, retry_policy,
      priority, overlap_policy, misfire_policy, metadata, jitter_seconds, route, own_rows, lean_execution, payload_bytes)
    SELECT job_id, 1, tenant_id, 'a', '{}', '{"type":"CRON"}', now(),
      json_build_object('type', 'http', 'payload', ($2::text)::json, 'timeout_seconds', 30), '{}', 5, 'SKIP', 'FIRE_ONCE', '{}',
      0, 'server', false, '{"type":"http","timeout_seconds":30}', octet_length($2::text)
    FROM job
  )
  INSERT INTO cursors (job_id, tenant_id, partition_id, version, status, slot_at, due_at)
  SELECT job_id, tenant_id, 0, 1, 'ACTIVE', now(), now() FROM job`

/** Random digits, each in an array of its own. */
function largePayload(): string {
  const digits = Array.from({ length: 65_535 }, (_, n) => `[${(n * 7_919 * (n % 13) + n) % 10}]`)
  return `[${digits.join(',')}]`
}

const everyJob = {
  tenantId: defaultTenantId,
  filter: { status: null, tag: null, q: null },
  offset: 0,
  limit: 200,
}

/** All jobs by their pages, each of which must come within a second. */
async function readAll(jobs: PostgresJobs, jobsCount: number, content: PageContent): Promise<ListedJob[][]> {
  const pages: ListedJob[][] = []
  let before: string | null = null
  do {
    const startMs = performance.now()
    const page = await jobs.list({ ...everyJob, ...content, before })
    const tookMs = performance.now() - startMs
    assert(tookMs < 1_000, `${tookMs} ms`)
    pages.push(page.jobs)
    before = page.next
  } while (before !== null)
  const ids = pages.flat().map(({ jobId }) => jobId)
  assert.deepEqual([ids.length, new Set(ids).size], [jobsCount, jobsCount])
  return pages
}

test('a page of 200 jobs with 256 KB each comes within a second and 2 MiB, and all pages have all jobs', async (t) => {
  const { client, database } = await useDatabase(t)
  const payload = largePayload()
  await client.query(insertJobs, [200, payload])
  const jobs = new PostgresJobs(database)
  for (const page of await readAll(jobs, 200, { payloads: true, bytesMax: pageBytesMax })) {
    const bytes = page.reduce((sum, job) => sum + job.payload!.length, 0)
    assert(bytes <= pageBytesMax, `${page.length} jobs, ${bytes} bytes`)
    for (const job of page) assert.equal(job.payload, payload)
  }
  assert.equal((await readAll(jobs, 200, leanPage)).length, 1)
})

test('jobs that an older program wrote are listed in the same way, in shorter pages', async (t) => {
  const { client, database } = await useDatabase(t)
  const payload = largePayload()
  await client.query(insertJobs, [40, payload])
  await client.query('UPDATE job_versions SET lean_execution = NULL, payload_bytes = NULL')
  const jobs = new PostgresJobs(database)
  const whole = (await readAll(jobs, 40, { payloads: true, bytesMax: pageBytesMax })).flat()
  for (const job of whole) assert.equal(job.payload, payload)
  for (const { execution, payload: left } of (await readAll(jobs, 40, leanPage)).flat())
    assert.deepEqual([execution, left], [{ type: 'http', timeout_seconds: 30 }, null])
})
