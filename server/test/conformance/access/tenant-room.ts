// Conformance of the tenant room port, for every implementation: waiting executions and storage against the limits.
import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import test, { type TestContext } from 'node:test'
import { type LogLine, logLineBytes } from '../../../src/domain/history/log.ts'
import { sharedLane } from '../../../src/domain/queue/lane.ts'
import { toTriggerBatches } from '../../../src/domain/queue/trigger-batches.ts'
import { defaultTenantId, type Tier } from '../../../src/domain/tenants/tenant.ts'
import type { NewJob } from '../../../src/ports/jobs.ts'
import { unlimitedTier } from '../../../testing/memory-store/first-tiers.ts'
import type { StoreScenario } from '../stores.ts'

type Setup = (t: TestContext) => Promise<StoreScenario>

/** A tenant on a tier with these limits, and a job of it. */
async function setupTenant(setup: Setup, t: TestContext, limits: Partial<Tier>) {
  const s = await setup(t)
  await s.tiers.put({ ...unlimitedTier, tier: 'small', ...limits })
  const tenantId = s.ids.next()
  await s.tenants.create({ tenantId, name: 'sales', tier: 'small' })
  const job = await s.createJob({ tenantId, overlapPolicy: 'ALLOW' })
  const trigger = (changes: { lane?: string; payloadOverride?: unknown; of?: NewJob } = {}) => {
    const { of = job, lane = sharedLane, ...rest } = changes
    const order = { tenantId: of.tenantId, jobId: of.jobId, executionId: s.ids.next(), lane, ...rest }
    return s.jobs.trigger(order)
  }
  const triggerMany = (count: number, lane: string, payloads: string[] | null = null) => {
    const batches = toTriggerBatches({ count, payloads }, () => s.ids.nextBatch())
    return s.jobs.triggerMany({ tenantId, jobId: job.jobId, lane, batches })
  }
  const putArtifact = (artifactId: string, bytes: number) => {
    const content = Buffer.alloc(bytes, artifactId)
    return s.artifacts.put({ tenantId, artifactId, sha256: hash('sha256', content), content, by: 'tester' })
  }
  const log = (messages: string[], changes: { executionId?: string; tenantId?: string } = {}) => {
    const lines = messages.map((message): LogLine => ({ at: s.at(1), level: 'info', message }))
    return s.logs.append([
      { tenantId, executionId: s.ids.next(), attempt: 1, firstLine: 0, lines, ...changes },
    ])
  }
  return { s, tenantId, job, trigger, triggerMany, putArtifact, log }
}

export function testTenantRoom(name: string, setup: Setup): void {
  testWaiting(name, setup)
  testDraws(name, setup)
  testKinds(name, setup)
  testLogs(name, setup)
}

function testWaiting(name: string, setup: Setup): void {
  test(`${name}: executions that wait leave less room, wherever they wait, and others do not`, async (t) => {
    const waitingExecutionsMax = 100
    const { s, tenantId, job, trigger, triggerMany } = await setupTenant(setup, t, { waitingExecutionsMax })
    const roomOf = async () => (await s.tenantRoom.waitingRoom([tenantId])).get(tenantId)
    assert.deepEqual(await roomOf(), { waitingMax: 100, waiting: 0, room: 100 })
    await trigger()
    await trigger({ lane: tenantId })
    await triggerMany(3, sharedLane)
    await triggerMany(60, tenantId)
    await s.fire(job, 1)
    assert.deepEqual(await roomOf(), { waitingMax: 100, waiting: 66, room: 34 })
    const serial = await s.createJob({ tenantId, overlapPolicy: 'BUFFER_ALL' })
    await trigger({ of: serial })
    await trigger({ of: serial })
    assert.equal((await roomOf())!.waiting, 68, 'one of them waits for the other')
    const other = await s.createJob()
    await trigger({ of: other })
    assert.equal((await roomOf())!.waiting, 68, 'another tenant has its own')
    await triggerMany(40, tenantId)
    assert.equal((await roomOf())!.room, 0)
  })

  test(`${name}: an execution that a worker has claimed waits no more`, async (t) => {
    const { s, tenantId, trigger, triggerMany } = await setupTenant(setup, t, { waitingExecutionsMax: 10 })
    await trigger()
    await triggerMany(2, sharedLane)
    await s.claim(await s.addWorker())
    assert.equal((await s.tenantRoom.waitingRoom([tenantId])).get(tenantId)!.waiting, 0)
  })

  test(`${name}: only tenants with a limit have a room, and any tenant is counted up to a number`, async (t) => {
    const { s, tenantId, trigger } = await setupTenant(setup, t, { waitingExecutionsMax: null })
    await trigger()
    assert.deepEqual(await s.tenantRoom.waitingRoom([tenantId, defaultTenantId, s.ids.next()]), new Map())
    assert.deepEqual(await s.tenantRoom.waitingRoom([]), new Map())
    assert.equal(await s.tenantRoom.countWaiting(tenantId, 1_000), 1)
    assert.equal(await s.tenantRoom.countWaiting(defaultTenantId, 1_000), 0)
    await trigger()
    await trigger()
    const counted = await s.tenantRoom.countWaiting(tenantId, 1)
    assert(counted > 1, 'more than asked for, so that it can be said')
  })
}

function testDraws(name: string, setup: Setup): void {
  test(`${name}: draws add up to the limit and no further, however many come at once`, async (t) => {
    const { s, tenantId } = await setupTenant(setup, t, { storageBytesMax: 100_000 })
    const { used: before } = await s.tenantRoom.drawStorage({
      ...{ tenantId, limit: 100_000, bytesMin: 1, bytesMax: 1 },
    })
    const draw = { tenantId, limit: 100_000, bytesMin: 9_000, bytesMax: 10_000 }
    const drawn = await Promise.all(Array.from({ length: 15 }, () => s.tenantRoom.drawStorage(draw)))
    const granted = drawn.map((one) => one.granted)
    const sum = granted.reduce((all, one) => all + one, 0)
    assert(sum <= 100_000 - before - 1 && sum > 90_000 - before - 1, `${sum} of ${before}`)
    for (const one of drawn) assert(one.granted === 0 || (one.granted >= 9_000 && one.granted <= 10_000))
  })

  test(`${name}: near the limit a draw gets the rest, and nothing when that is too little`, async (t) => {
    const { s, tenantId } = await setupTenant(setup, t, { storageBytesMax: 100_000 })
    const draw = (bytesMin: number, bytesMax: number) =>
      s.tenantRoom.drawStorage({ tenantId, limit: 100_000, bytesMin, bytesMax })
    const { granted, used } = await draw(1, 60_000)
    assert.equal(granted, 60_000)
    const rest = await draw(1, 60_000)
    assert.equal(rest.granted, 40_000 - used)
    assert.equal(rest.used, 60_000 + used)
    assert.deepEqual(await draw(1, 1), { granted: 0, used: 100_000 })
  })
}

function testKinds(name: string, setup: Setup): void {
  test(`${name}: artifacts, versions, payloads of waiting executions and logs are stored, each tenant its own`, async (t) => {
    const parts = await setupTenant(setup, t, { storageBytesMax: 1_000_000 })
    const { s, tenantId, job, trigger, triggerMany, putArtifact, log } = parts
    const storage = async () => {
      const { storageBytes } = await s.tiers.measure(tenantId, { ...unlimitedTier, storageBytesMax: 1 })
      return storageBytes
    }
    const grows = async (act: () => Promise<unknown>, least: number, most = least) => {
      const before = await storage()
      await act()
      const more = (await storage()) - before
      assert(more >= least && more <= most, `${more} of ${least} to ${most}`)
    }
    const first = await storage()
    assert(first > 200 && first < 2_000, `${first}`)
    await grows(() => putArtifact('a', 5_000), 5_000)
    await grows(() => putArtifact('a', 3_000), -2_000)
    const execution = { ...job.execution, payload: 'p'.repeat(1_000) }
    await grows(() => s.createJob({ tenantId, execution }), 1_200, 3_000)
    await grows(() => trigger({ payloadOverride: 'p'.repeat(1_000) }), 1_000, 1_020)
    await grows(() => triggerMany(2, tenantId, [`"${'p'.repeat(500)}"`, '1']), 500, 540)
    await grows(() => trigger(), 0)
    await grows(() => log(['hello', 'world']), 2 * (logLineBytes + 5))
    await grows(() => s.artifacts.remove(tenantId, 'a'), -3_000)
    await grows(async () => {
      const other = await s.createJob({ execution })
      await trigger({ of: other, payloadOverride: 'p'.repeat(1_000) })
      await log(['hello'], { tenantId: defaultTenantId })
    }, 0)
    await grows(async () => s.claim(await s.addWorker()), -1_020, -1_000)
  })

  test(`${name}: the storage in use is the count and the draws since, and logs at once`, async (t) => {
    const { s, tenantId, putArtifact, log } = await setupTenant(setup, t, { storageBytesMax: 1_000_000 })
    await putArtifact('a', 5_000)
    const first = await s.tenantRoom.storageUsed(tenantId)
    assert(first > 5_200 && first < 7_000, `${first}`)
    await s.tenantRoom.drawStorage({ tenantId, limit: 1_000_000, bytesMin: 1, bytesMax: 700 })
    await log(['hello'])
    assert.equal(await s.tenantRoom.storageUsed(tenantId), first + 700 + logLineBytes + 5)
  })
}

function testLogs(name: string, setup: Setup): void {
  const read = async (s: StoreScenario, tenantId: string, executionId: string) => {
    const query = { tenantId, executionId, attempt: null, after: null, limit: 1_000 }
    return (await s.logs.read(query)).lines.map(({ message }) => message)
  }

  test(`${name}: log lines beyond the storage of the tenant are dropped behind a mark, and other tenants log on`, async (t) => {
    const { s, tenantId, log } = await setupTenant(setup, t, { storageBytesMax: 20_000 })
    const line = 'x'.repeat(968)
    const first = s.ids.next()
    await log(new Array<string>(30).fill(line), { executionId: first })
    const lines = await read(s, tenantId, first)
    assert(lines.length > 10 && lines.length < 22, `${lines.length}`)
    assert.match(lines.at(-1)!, /^The log is cut here: the tenant has reached storage_bytes_max/)
    assert.equal(
      lines.slice(0, -1).every((one) => one === line),
      true,
    )
    const part = { tenantId, executionId: first, attempt: 1, firstLine: 30 }
    await s.logs.append([{ ...part, lines: [{ at: s.at(1), level: 'info', message: 'later' }] }])
    assert.deepEqual(await read(s, tenantId, first), lines, 'the log of this attempt has ended')
    const theirs = s.ids.next()
    await log([line], { executionId: theirs, tenantId: defaultTenantId })
    assert.deepEqual(await read(s, defaultTenantId, theirs), [line])
  })

  test(`${name}: marks cannot fill the storage by themselves, and a larger limit lets lines in again`, async (t) => {
    const { s, tenantId, log } = await setupTenant(setup, t, { storageBytesMax: 20_000 })
    await s.tenantRoom.storageUsed(tenantId)
    await log(new Array<string>(30).fill('x'.repeat(968)))
    const ids = Array.from({ length: 20 }, () => s.ids.next())
    for (const executionId of ids) await log(['x'.repeat(968)], { executionId })
    const kept = await Promise.all(ids.map((executionId) => read(s, tenantId, executionId)))
    const marked = kept.filter((lines) => lines.length > 0)
    // They take the room that is too small for a line, and a bit beyond the limit.
    assert(marked.length <= 8, `${marked.length}`)
    assert((await s.tenantRoom.storageUsed(tenantId)) <= 20_000 * (1 + 1 / 64))
    await s.tiers.put({ ...unlimitedTier, tier: 'small', storageBytesMax: 40_000 })
    const executionId = s.ids.next()
    await log(['hello'], { executionId })
    assert.deepEqual(await read(s, tenantId, executionId), ['hello'])
  })

  test(`${name}: a line that is sent again is stored and counted once`, async (t) => {
    const { s, tenantId, log } = await setupTenant(setup, t, { storageBytesMax: 1_000_000 })
    const executionId = s.ids.next()
    const before = await s.tenantRoom.storageUsed(tenantId)
    for (let n = 0; n < 3; n++) await log(['hello'], { executionId })
    assert.equal(await s.tenantRoom.storageUsed(tenantId), before + logLineBytes + 5)
  })
}
