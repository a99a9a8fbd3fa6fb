// Conformance of the query that clusters dead letters of the same kind.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { defaultTenantId } from '../../../src/domain/tenants/tenant.ts'
import type { NewJob } from '../../../src/ports/jobs.ts'
import type { StoreScenario } from '../stores.ts'

type Setup = (t: TestContext) => Promise<StoreScenario>

/** An execution that died of this. */
async function die(
  s: StoreScenario,
  job: NewJob,
  second: number,
  message: string,
  httpStatus = 500,
): Promise<string> {
  const executionId = await s.fire(job, second)
  const workerId = await s.addWorker()
  const error = { type: 'HTTP_ERROR', message } as const
  await s.finishBatch(workerId, await s.claimBatch(workerId), s.died({ error, httpStatus }))
  await s.tick()
  return executionId
}

export function testDeadLetterClusters(name: string, setup: Setup): void {
  test(`${name}: dead letters are clustered by job and by the common part of their last errors`, async (t) => {
    const s = await setup(t)
    const [job, other] = [await s.createJob({ name: 'first' }), await s.createJob({ name: 'second' })]
    assert.deepEqual(await s.deadLetters.clusters(defaultTenantId, 50), { clusters: [], complete: true })
    const ids: string[] = []
    for (let second = 0; second < 7; second++)
      ids.unshift(await die(s, job, second, `order ${second} is gone`))
    await die(s, other, 0, 'order 1 is gone')
    await die(s, other, 1, 'order 1 is gone')
    await die(s, job, 8, 'order 1 is gone', 404)
    const { clusters, complete } = await s.deadLetters.clusters(defaultTenantId, 50)
    const [{ oldestAt, newestAt, ...largest }, second, third] = clusters as [(typeof clusters)[0]] &
      typeof clusters
    assert.deepEqual(largest, {
      ...{ jobId: job.jobId, jobName: 'first', errorType: 'HTTP_ERROR', httpStatus: 500, count: 7 },
      ...{ message: 'order 6 is gone', executionIds: ids.slice(0, 5) },
    })
    assert(oldestAt < newestAt)
    assert.deepEqual([second!.jobName, second!.count, third!.httpStatus, third!.count], ['second', 2, 404, 1])
    assert.deepEqual([clusters.length, complete], [3, true])
    assert.equal((await s.deadLetters.clusters(defaultTenantId, 2)).clusters.length, 2)
  })

  test(`${name}: nobody sees the clusters of another tenant`, async (t) => {
    const s = await setup(t)
    const tenantId = await s.addTenant(1)
    await die(s, await s.createJob({ tenantId }), 0, 'no')
    assert.deepEqual((await s.deadLetters.clusters(defaultTenantId, 50)).clusters, [])
    assert.equal((await s.deadLetters.clusters(tenantId, 50)).clusters.length, 1)
  })
}
