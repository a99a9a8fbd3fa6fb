// Triggers with keys that are committed together, single ones and many: the locks and results of each trigger are never
// attributed to another.
import assert from 'node:assert/strict'
import test from 'node:test'
import { sharedLane } from '../../src/domain/queue/lane.ts'
import { toTriggerBatches } from '../../src/domain/queue/trigger-batches.ts'
import type { NewJob } from '../../src/ports/jobs.ts'
import type { Done, WriteStores } from '../../src/ports/requests.ts'
import { POSTGRES_VERSIONS } from '../database.ts'
import { assertWhole } from './invariants.ts'
import { createRace } from './sessions.ts'

for (const version of POSTGRES_VERSIONS) {
  test(`PostgreSQL ${version}: many triggers of a job, committed together with single triggers of others, each take effect once`, async (t) => {
    const { s, client, first } = await createRace(t, version)
    const [leading, many, ...others] = await Promise.all(Array.from({ length: 6 }, () => s.createJob()))
    let works = 0
    const gather = (job: NewJob, trigger: (stores: WriteStores) => Promise<{ kind: string }>) => {
      const { tenantId, jobId } = job
      const once = { tenantId, key: jobId, fingerprint: new TextEncoder().encode(jobId) }
      const work = async (stores: WriteStores): Promise<Done<string>> => {
        works += 1
        return { value: (await trigger(stores)).kind, reply: null }
      }
      return first.requests.run({ once, dryRun: false, gather: { jobId } }, work)
    }
    const single = (job: NewJob) =>
      gather(job, ({ jobs }) => {
        const { tenantId, jobId } = job
        return jobs.trigger({ tenantId, jobId, executionId: s.ids.next(), lane: sharedLane })
      })
    // The first goes alone, the others together while it is written.
    const outcomes = await Promise.all([
      single(leading!),
      gather(many!, ({ jobs }) => {
        const { tenantId, jobId } = many!
        const batches = toTriggerBatches({ count: 3, payloads: null }, () => s.ids.nextBatch())
        return jobs.triggerMany({ tenantId, jobId, lane: sharedLane, batches })
      }),
      ...others.map(single),
    ])
    for (const outcome of outcomes) assert.deepEqual(outcome, { kind: 'done', value: 'triggered' })
    assert.equal(works, 6, 'none of them was done again')
    const { rows } = await client.query('SELECT job_id, count(*)::int AS n FROM live GROUP BY job_id')
    assert.deepEqual(
      Object.fromEntries(rows.map((row) => [row.job_id, row.n])),
      Object.fromEntries([leading!, many!, ...others].map((job) => [job.jobId, job === many ? 3 : 1])),
    )
    await assertWhole(client)
  })
}
