// Conformance: however an execution is created, it waits on the route of the target of its job.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import type { Execution } from '../../../src/domain/jobs/job.ts'
import { executionIdAt } from '../../../src/domain/queue/execution.ts'
import { sharedLane } from '../../../src/domain/queue/lane.ts'
import { defaultTenantId } from '../../../src/domain/tenants/tenant.ts'
import type { NewJob } from '../../../src/ports/jobs.ts'
import type { Claimed } from '../../../src/ports/queue.ts'
import { change, edit } from '../jobs/changes.ts'
import { createOperation } from '../jobs/jobs-backfill.ts'
import { allExecutions } from '../scenario.ts'
import type { StoreScenario } from '../stores.ts'
import { http } from './held.ts'

type Setup = (t: TestContext) => Promise<StoreScenario>

const handler: Execution = { type: 'worker', handler: 'send-report', labels: [], timeout_seconds: 30 }
const labelled: Execution = { ...handler, labels: ['eu', 'gpu'] }
const shell: Execution = { type: 'shell', command: '/bin/true', args: [], env: {}, timeout_seconds: 30 }
const artifact: Execution = {
  type: 'artifact',
  artifact_id: 'report',
  entrypoint: 'main:run',
  timeout_seconds: 30,
}
const handlerRoute = `worker ${defaultTenantId} send-report `
const EXECUTIONS = [
  { what: 'an HTTP target', execution: http, route: 'server' },
  { what: 'a handler', execution: handler, route: handlerRoute },
  { what: 'a handler that needs labels', execution: labelled, route: `${handlerRoute}eu,gpu` },
  { what: 'a command', execution: shell, route: 'shell' },
  { what: 'an artifact', execution: artifact, route: 'artifact' },
] as const

function idsOf({ batches, live }: Claimed): string[] {
  const batched = batches.flatMap(({ batchId, positions }) =>
    positions.map((place) => executionIdAt(batchId, place)),
  )
  return [...batched, ...live.map(({ executionId }) => executionId)]
}

/** It can be claimed on this route, and on no other. */
async function assertWaitsOn(s: StoreScenario, route: string, executionId: string): Promise<Claimed> {
  const others = ['server', ...EXECUTIONS.map((one) => one.route)].filter((other) => other !== route)
  const workerId = await s.addWorker()
  assert.deepEqual(idsOf(await s.claimOn(workerId, others)), [])
  const claimed = await s.claimOn(workerId, [route])
  assert.deepEqual(idsOf(claimed), [executionId])
  return claimed
}

/** Claims the executions waiting on the route, and ends them. */
async function runOn(s: StoreScenario, route: string, end = s.succeeded()): Promise<void> {
  const workerId = await s.addWorker()
  const { batches, live } = await s.claimOn(workerId, [route])
  for (const batch of batches) await s.finishBatch(workerId, batch, end)
  for (const one of live) await s.finishLive(workerId, one, end)
}

/** The ways an execution comes about; each leaves one that can be claimed. */
const WAYS: readonly {
  what: string
  changes?: Partial<NewJob>
  make: (s: StoreScenario, job: NewJob, route: string) => Promise<string>
}[] = [
  { what: 'a slot', make: (s, job) => s.fire(job, 0) },
  {
    what: 'a slot of its own row',
    changes: { overlapPolicy: 'BUFFER_ONE' },
    make: (s, job) => s.fire(job, 0),
  },
  {
    what: 'a slot that waited',
    changes: { overlapPolicy: 'ALLOW', concurrencyLimit: 1 },
    async make(s, job) {
      const item = s.slotOf(job, 0)
      assert.deepEqual(
        (await s.slots.fire([item])).map(({ answer }) => answer),
        ['buffered'],
      )
      await s.release(job)
      return item.executionId
    },
  },
  {
    what: 'an owed slot',
    async make(s, job, route) {
      await s.fire(job, 0, { late: true, owedTo: s.at(1) })
      await runOn(s, route)
      assert.equal((await s.release(job)).ready, 1)
      return latestOf(s, job)
    },
  },
  { what: 'a trigger', make: (s, job) => s.trigger(job) },
  {
    what: 'a retry',
    async make(s, job, route) {
      const executionId = await s.trigger(job)
      await runOn(s, route)
      const newExecutionId = s.ids.next()
      await s.control.retry({ tenantId: defaultTenantId, executionId, newExecutionId, lane: sharedLane })
      await s.release(job)
      return newExecutionId
    },
  },
  {
    what: 'a redrive',
    async make(s, job, route) {
      const executionId = await s.trigger(job)
      await runOn(s, route, s.died())
      const newExecutionId = s.ids.next()
      const letters = [{ executionId, newExecutionId, lane: sharedLane }]
      await s.deadLetters.redrive({ tenantId: defaultTenantId, letters })
      await s.release(job)
      return newExecutionId
    },
  },
  {
    what: 'a backfill',
    async make(s, job) {
      const { tenantId, jobId } = job
      const operationId = await createOperation(s, job)
      const executions = [{ executionId: s.ids.next(), slot: s.at(0), lane: sharedLane }]
      await s.jobs.enqueueBackfill({ tenantId, jobId, operationId, unendedMax: 1, executions })
      await s.release(job)
      return executions[0]!.executionId
    },
  },
  {
    what: 'a second attempt',
    async make(s, job, route) {
      const executionId = await s.fire(job, 0)
      await runOn(s, route, s.failedForNow())
      await s.maintenance.wake(10)
      return executionId
    },
  },
]

async function latestOf(s: StoreScenario, { jobId }: NewJob): Promise<string> {
  const { executions } = (await s.executions.listExecutions({ ...allExecutions, jobId }))!
  return executions[0]!.executionId
}

export function testRoutes(name: string, setup: Setup): void {
  for (const { what, execution, route } of EXECUTIONS) {
    test(`${name}: a slot and a trigger of ${what} wait on its route`, async (t) => {
      const s = await setup(t)
      const job = await s.createJob({ execution, overlapPolicy: 'ALLOW' })
      await assertWaitsOn(s, route, await s.fire(job, 0))
      await assertWaitsOn(s, route, await s.trigger(job))
    })

    test(`${name}: a cursor names the route of ${what}`, async (t) => {
      const s = await setup(t)
      const { jobId } = await s.createJob({ jobId: s.jobIdIn(3), execution })
      const partitions = [{ partitionId: 3, after: null }]
      const loaded = await s.slots.load({ partitions, dueBefore: s.at(10), limit: 10 })
      const noted = await s.slots.takeChanges([3], 10)
      for (const cursors of [loaded, noted]) {
        assert.deepEqual(
          cursors.map((one) => [one.jobId, one.route, one.ownRows]),
          [[jobId, route, false]],
        )
      }
    })

    test(`${name}: the only execution of an IMMEDIATE job waits on the route of ${what}`, async (t) => {
      const s = await setup(t)
      const immediate = { executionId: s.ids.nextBatch(), slot: s.at(1), lane: sharedLane }
      const once = { schedule: { type: 'IMMEDIATE' }, status: 'COMPLETED', slotAt: null } as const
      await s.createJob({ execution, ...once, immediate })
      await assertWaitsOn(s, route, immediate.executionId)
    })

    test(`${name}: a worker reads the definition of ${what}`, async (t) => {
      const s = await setup(t)
      const job = await s.createJob({ execution })
      const [definition] = await s.queue.definitions([{ jobId: job.jobId, version: 1 }])
      assert.deepEqual(definition!.execution, execution)
      assert.deepEqual((await s.view(await s.trigger(job))).execution, execution)
    })
  }

  for (const { what, changes = {}, make } of WAYS) {
    test(`${name}: ${what} of a handler waits on the route of the handler`, async (t) => {
      const s = await setup(t)
      const job = await s.createJob({ execution: labelled, ...changes })
      const route = `${handlerRoute}eu,gpu`
      await assertWaitsOn(s, route, await make(s, job, route))
    })
  }

  test(`${name}: after an edit new executions go to the new target of the job, and existing ones stay`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob({ overlapPolicy: 'ALLOW' })
    const [slot, triggered] = [await s.fire(job, 0), await s.trigger(job)]
    await change(s, job, edit({ execution: labelled }))
    const later = await s.trigger(job)
    const claimed = await s.claim(await s.addWorker())
    assert.deepEqual(idsOf(claimed).toSorted(), [slot, triggered].toSorted())
    await assertWaitsOn(s, `${handlerRoute}eu,gpu`, later)
  })

  test(`${name}: two tenants with handlers of the same name have a route each`, async (t) => {
    const s = await setup(t)
    const tenantId = await s.addTenant(1)
    const theirs = await s.trigger(await s.createJob({ tenantId, execution: handler }))
    const ours = await s.trigger(await s.createJob({ execution: handler }))
    const workerId = await s.addWorker()
    assert.deepEqual(idsOf(await s.claimOn(workerId, [`worker ${tenantId} send-report `])), [theirs])
    assert.deepEqual(idsOf(await s.claimOn(workerId, [handlerRoute])), [ours])
  })
}
