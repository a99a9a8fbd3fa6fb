// Conformance of the operations port, for every implementation.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import {
  type NewOperation,
  type Operation,
  operationDaysKept,
  operationFailuresMax,
  operationsMax,
} from '../../../src/domain/jobs/operation.ts'
import { defaultTenantId } from '../../../src/domain/tenants/tenant.ts'
import type { OperationProgress, OperationWork } from '../../../src/ports/operations.ts'
import type { StoreScenario } from '../stores.ts'
import { change, edit, pause } from './changes.ts'

type Setup = (t: TestContext) => Promise<StoreScenario>

const filter = { status: 'ACTIVE', tag: 'billing', q: null } as const

async function create(s: StoreScenario, changes: Partial<NewOperation> = {}): Promise<NewOperation> {
  const operation = {
    operationId: s.ids.next(),
    tenantId: defaultTenantId,
    kind: 'pause',
    filter,
    options: { reason: 'holidays', until: s.at(9_000) },
    createdBy: 'tester',
    createdAt: await s.now(),
    total: 7,
    totalCapped: false,
    ...changes,
  } as NewOperation
  assert.equal(await s.operations.create(operation), 'created')
  return operation
}

/** A step that did so much and came so far. */
const progress =
  (changes: Partial<OperationProgress> = {}): OperationWork =>
  async () => ({ done: 1, skipped: 0, after: null, waitMs: 0, ...changes })

const fail: OperationWork = async () => {
  throw new Error('secret: the target list is gone')
}

async function get(s: StoreScenario, { operationId, tenantId }: NewOperation): Promise<Operation> {
  const operation = await s.operations.get(tenantId, operationId)
  assert(operation !== null)
  return operation
}

export function testOperations(name: string, setup: Setup): void {
  testReading(name, setup)
  testSteps(name, setup)
  testFailures(name, setup)
}

function testReading(name: string, setup: Setup): void {
  test(`${name}: operations are pruned a week after they ended, the oldest first`, async (t) => {
    const s = await setup(t)
    const hourMs = 3_600_000
    const first = await create(s)
    await s.operations.step(progress())
    await s.ageOperations(hourMs)
    const second = await create(s)
    await s.operations.step(progress())
    await s.ageOperations(operationDaysKept * 24 * hourMs - hourMs / 2)
    const underWay = await create(s)
    const ids = async () => {
      const page = await s.operations.list({ tenantId: defaultTenantId, before: null, limit: 10 })
      return page.operations.map(({ operationId }) => operationId).toSorted()
    }
    assert.equal(await s.operations.prune(10), 1)
    assert.deepEqual(await ids(), [second, underWay].map(({ operationId }) => operationId).toSorted())
    assert.equal(await s.operations.get(defaultTenantId, first.operationId), null)
    await create(s)
    await s.operations.step(progress())
    await s.operations.step(progress())
    await s.ageOperations(8 * 24 * hourMs)
    assert.equal(await s.operations.prune(1), 1)
    assert.equal(await s.operations.get(defaultTenantId, second.operationId), null, 'it ended first')
    assert.equal((await ids()).length, 2)
  })

  test(`${name}: an operation is read as it was created, and has not begun`, async (t) => {
    const s = await setup(t)
    const letters = {
      jobId: s.ids.next(),
      reason: null,
      errorType: 'TIMEOUT',
      from: s.at(1),
      to: null,
    } as const
    const redrive = {
      kind: 'redrive',
      filter: letters,
      options: { ratePerSecond: 5 },
      totalCapped: true,
    } as const
    const trigger = { kind: 'trigger', options: { payloadOverride: { a: [null] } } } as const
    for (const changes of [{}, redrive, trigger]) {
      const given = await create(s, changes)
      const { createdAt, ...rest } = await get(s, given)
      const { createdAt: givenAt, ...expected } = given
      const fresh = { status: 'RUNNING', done: 0, skipped: 0, after: null, error: null, finishedAt: null }
      assert.deepEqual(rest, { ...expected, ...fresh })
      assert(createdAt >= givenAt && createdAt <= (await s.now()))
    }
  })

  test(`${name}: operations are listed newest first, piece by piece`, async (t) => {
    const s = await setup(t)
    const made = [await create(s), await create(s), await create(s)]
    const expected = made.map(({ operationId }) => operationId).toReversed()
    const list = async (before: string | null, limit: number) => {
      const page = await s.operations.list({ tenantId: defaultTenantId, before, limit })
      return [page.operations.map(({ operationId }) => operationId), page.more, page.total]
    }
    assert.deepEqual(await list(null, 10), [expected, false, 3])
    assert.deepEqual(await list(null, 2), [expected.slice(0, 2), true, 3])
    assert.deepEqual(await list(expected[1]!, 2), [expected.slice(2), false, 3])
    const { operations } = await s.operations.list({ tenantId: defaultTenantId, before: null, limit: 1 })
    assert.deepEqual(operations, [await get(s, made[2]!)])
  })

  test(`${name}: the list of operations has no payloads of triggers`, async (t) => {
    const s = await setup(t)
    const given = await create(s, { kind: 'trigger', options: { payloadOverride: { a: 1 } } })
    const { operations } = await s.operations.list({ tenantId: defaultTenantId, before: null, limit: 1 })
    assert.deepEqual(operations, [{ ...(await get(s, given)), options: {} }])
  })

  test(`${name}: nobody sees or cancels the operation of another tenant`, async (t) => {
    const s = await setup(t)
    const tenantId = await s.addTenant(1)
    const operation = await create(s, { tenantId })
    const { operationId } = operation
    assert.equal(await s.operations.get(defaultTenantId, operationId), null)
    assert.equal(await s.operations.cancel(defaultTenantId, operationId), null)
    assert.equal(await s.operations.cancel(defaultTenantId, s.ids.next()), null)
    const listed = await s.operations.list({ tenantId: defaultTenantId, before: null, limit: 9 })
    assert.deepEqual(listed, { operations: [], more: false, total: 0 })
    assert.equal((await get(s, operation)).status, 'RUNNING')
  })

  test(`${name}: a tenant has a bounded number of operations under way`, async (t) => {
    const s = await setup(t)
    const made: NewOperation[] = []
    for (let i = 0; i < operationsMax; i++) made.push(await create(s))
    const more = { ...made[0]!, operationId: s.ids.next() }
    assert.equal(await s.operations.create(more), 'too_many')
    assert.equal(await s.operations.get(defaultTenantId, more.operationId), null)
    await create(s, { tenantId: await s.addTenant(1) })
    await s.operations.cancel(defaultTenantId, made[3]!.operationId)
    assert.equal(await s.operations.create(more), 'created')
  })
}

function testSteps(name: string, setup: Setup): void {
  test(`${name}: an operation is done step by step, and each says how far it came`, async (t) => {
    const s = await setup(t)
    const operation = await create(s)
    const [far, further] = [s.ids.next(), s.ids.next()]
    const seen: Operation[] = []
    const step = (changes: Partial<OperationProgress>) =>
      s.operations.step(async (one, stores) => {
        seen.push(one)
        return progress(changes)(one, stores)
      })
    const first = await step({ done: 3, skipped: 1, after: far })
    assert.deepEqual(first, await get(s, operation))
    const second = await step({ done: 2, skipped: 0, after: further })
    const third = await step({ done: 0, skipped: 1, after: null })
    assert.deepEqual(
      [first!, second!, third!].map(({ status, done, skipped }) => [status, done, skipped]),
      [
        ['RUNNING', 3, 1],
        ['RUNNING', 5, 1],
        ['COMPLETED', 5, 2],
      ],
    )
    assert.deepEqual(
      seen.map(({ after }) => after),
      [null, far, further],
    )
    assert(third!.finishedAt! >= third!.createdAt && third!.finishedAt! <= (await s.now()))
    assert.equal(third!.error, null)
    assert.equal(await step({}), null)
    assert.deepEqual(await get(s, operation), third)
  })

  test(`${name}: the next step comes when the last one said so`, async (t) => {
    const s = await setup(t)
    assert.equal(await s.operations.nextAt(), null)
    assert.equal(await s.operations.step(progress()), null)
    const operation = await create(s)
    const { createdAt } = await get(s, operation)
    const firstAt = (await s.operations.nextAt())!
    assert(firstAt >= createdAt && firstAt <= (await s.now()))
    const before = await s.now()
    await s.operations.step(progress({ after: s.ids.next(), waitMs: 60_000 }))
    const nextAt = (await s.operations.nextAt())!
    assert(nextAt >= before + 60_000 && nextAt <= (await s.now()) + 60_000)
    assert.equal(await s.operations.step(progress()), null)
    await s.ageOperations(60_000)
    assert.equal((await s.operations.step(progress()))!.status, 'COMPLETED')
    assert.equal(await s.operations.nextAt(), null)
  })

  test(`${name}: whichever is due first goes first, of all tenants`, async (t) => {
    const s = await setup(t)
    const first = await create(s)
    await s.tick()
    const second = await create(s, { tenantId: await s.addTenant(1) })
    const stepped = async () => (await s.operations.step(progress({ after: s.ids.next() })))!.operationId
    const order: string[] = []
    for (let i = 0; i < 4; i++) {
      await s.tick()
      order.push(await stepped())
    }
    const [one, two] = [first.operationId, second.operationId]
    assert.deepEqual(order, [one, two, one, two])
  })

  test(`${name}: an operation whose step is in progress is passed over by other steps`, async (t) => {
    const s = await setup(t)
    await create(s)
    const inner: (Operation | null)[] = []
    const outer = await s.operations.step(async () => {
      inner.push(await s.operations.step(progress()))
      return { done: 1, skipped: 0, after: null, waitMs: 0 }
    })
    assert.deepEqual(inner, [null])
    assert.deepEqual([outer!.done, outer!.status], [1, 'COMPLETED'])
  })

  test(`${name}: steps taken at once are steps of different operations`, async (t) => {
    const s = await setup(t)
    const made = [await create(s), await create(s), await create(s)]
    const steps = await Promise.all([1, 2, 3, 4].map(() => s.operations.step(progress())))
    const done = steps.flatMap((one) => (one === null ? [] : [one.operationId]))
    assert.deepEqual(done.toSorted(), made.map(({ operationId }) => operationId).toSorted())
  })

  test(`${name}: the writes of a step are there when it is over`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob()
    await create(s)
    await s.operations.step(async (_one, stores) => {
      await change(stores, job, pause())
      assert.equal((await stores.jobs.get(defaultTenantId, job.jobId))!.status, 'PAUSED')
      return { done: 1, skipped: 0, after: null, waitMs: 0 }
    })
    assert.equal((await s.jobs.get(defaultTenantId, job.jobId))!.status, 'PAUSED')
  })

  test(`${name}: a cancelled operation takes no further step, and keeps its earlier results`, async (t) => {
    const s = await setup(t)
    const operation = await create(s)
    await s.operations.step(progress({ done: 4, after: s.ids.next() }))
    const cancelled = (await s.operations.cancel(defaultTenantId, operation.operationId))!
    assert.deepEqual([cancelled.status, cancelled.done], ['CANCELLED', 4])
    assert(cancelled.finishedAt! <= (await s.now()))
    assert.equal(await s.operations.step(progress()), null)
    assert.equal(await s.operations.nextAt(), null)
    await s.tick()
    assert.deepEqual(await s.operations.cancel(defaultTenantId, operation.operationId), cancelled)
  })

  test(`${name}: a completed operation is not cancelled any more`, async (t) => {
    const s = await setup(t)
    const { operationId } = await create(s)
    const completed = await s.operations.step(progress())
    assert.deepEqual(await s.operations.cancel(defaultTenantId, operationId), completed)
  })

  test(`${name}: a cancel that comes during a step lets it count and is the end`, async (t) => {
    const s = await setup(t)
    const operation = await create(s)
    let cancelled: Promise<Operation | null> | null = null
    await s.operations.step(async () => {
      cancelled = s.operations.cancel(defaultTenantId, operation.operationId)
      await s.tick()
      return { done: 2, skipped: 0, after: s.ids.next(), waitMs: 0 }
    })
    assert.equal((await cancelled!)!.status, 'CANCELLED')
    const { status, done } = await get(s, operation)
    assert.deepEqual([status, done], ['CANCELLED', 2])
    assert.equal(await s.operations.step(progress()), null)
  })
}

function testFailures(name: string, setup: Setup): void {
  test(`${name}: a step that failed is tried again a second later`, async (t) => {
    const s = await setup(t)
    const operation = await create(s)
    const before = await s.now()
    await assert.rejects(s.operations.step(fail), /secret/)
    const { status, done, error } = await get(s, operation)
    assert.deepEqual([status, done, error], ['RUNNING', 0, null])
    const nextAt = (await s.operations.nextAt())!
    assert(nextAt >= before + 1_000 && nextAt <= (await s.now()) + 1_000)
    assert.equal(await s.operations.step(progress()), null)
    await s.ageOperations(1_000)
    assert.equal((await s.operations.step(progress()))!.status, 'COMPLETED')
  })

  test(`${name}: a step that failed has written nothing`, async (t) => {
    const s = await setup(t)
    if (!s.canUndo) return
    const job = await s.createJob()
    await create(s)
    const half: OperationWork = async (_one, stores) => {
      await change(stores, job, pause())
      throw new Error('halfway')
    }
    await assert.rejects(s.operations.step(half), /halfway/)
    assert.equal((await s.jobs.get(defaultTenantId, job.jobId))!.status, 'ACTIVE')
    // A step with a refused statement leaves nothing behind either.
    await s.createJob({ key: 'taken' })
    await s.ageOperations(1_000)
    const refused: OperationWork = async (_one, stores) => {
      await change(stores, job, pause())
      await change(stores, job, edit({}, 'taken'))
      return { done: 1, skipped: 0, after: null, waitMs: 0 }
    }
    await assert.rejects(s.operations.step(refused))
    assert.equal((await s.jobs.get(defaultTenantId, job.jobId))!.status, 'ACTIVE')
  })

  test(`${name}: an operation is given up, in plain words, after its steps fail repeatedly`, async (t) => {
    const s = await setup(t)
    const operation = await create(s)
    for (let failures = 1; failures <= operationFailuresMax; failures++) {
      assert.equal((await get(s, operation)).status, 'RUNNING')
      await assert.rejects(s.operations.step(fail))
      await s.ageOperations(1_000)
    }
    const { status, error, finishedAt } = await get(s, operation)
    assert.deepEqual([status, finishedAt !== null], ['FAILED', true])
    assert.match(error!, /^[A-Z].*\.$/)
    assert.doesNotMatch(error!, /secret/)
    assert.equal(await s.operations.step(progress()), null)
    assert.equal(await s.operations.nextAt(), null)
  })

  test(`${name}: only failures in a row count`, async (t) => {
    const s = await setup(t)
    const operation = await create(s)
    const failSome = async () => {
      for (let failures = 1; failures < operationFailuresMax; failures++) {
        await assert.rejects(s.operations.step(fail))
        await s.ageOperations(1_000)
      }
    }
    await failSome()
    await s.operations.step(progress({ after: s.ids.next() }))
    await failSome()
    assert.equal((await get(s, operation)).status, 'RUNNING')
  })
}
