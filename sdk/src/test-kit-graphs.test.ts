import assert from 'node:assert/strict'
import test from 'node:test'
import { type AnyJob, defineJob, type JobContext, type JobOptions } from './define-job.ts'
import { createTestKit, type TestKit } from './test-kit.ts'

const now = '2026-03-28T00:00:00Z'

type Given = Partial<JobOptions<unknown, unknown>>

/** Jobs that record their parents: `load<transform:a,clean:b`. */
function setup() {
  const ran: string[] = []
  const fails = new Set<string>()
  const keys = new Map<string, string>()
  const made: AnyJob[] = []
  const job = (key: string, options: Given = {}): AnyJob => {
    const one = defineJob({
      key,
      retry: { maxRetries: 0 },
      timeout: '3h',
      run(_: unknown, { jobId, parents }: JobContext) {
        keys.set(jobId, key)
        const after = parents.map((parent) => `${keys.get(parent.jobId)}:${parent.result ?? parent.status}`)
        ran.push(parents.length === 0 ? key : `${key}<${after.join()}`)
        if (fails.has(key)) throw new Error('it fails')
        return key.toUpperCase()
      },
      ...options,
    })
    made.push(one)
    return one
  }
  return { ran, fails, job, createKit: () => createTestKit({ jobs: made, now }) }
}

const statuses = (kit: TestKit) => Object.fromEntries(kit.runs().map(({ key, status }) => [key, status]))

/** a, then b and c, then d. */
function diamond(options: Given = {}) {
  const parts = setup()
  const { job } = parts
  const a = job('a', { schedule: '0 * * * *', ...options })
  const [b, c] = [job('b', { dependsOn: [a] }), job('c', { dependsOn: [a] })]
  const d = job('d', { dependsOn: [b, c] })
  return { ...parts, a, b, c, d }
}

test('a job with dependencies runs after all of them, once, with their results', async () => {
  const { ran, a, d, createKit } = diamond()
  const kit = createKit()
  const ended = await kit.advance('1h')
  assert.deepEqual(ran, ['a', 'b<a:A', 'c<a:A', 'd<b:B,c:C'])
  assert.deepEqual(
    ended.map(({ key, kind, status }) => [key, kind, status]),
    [
      ['a', 'slot', 'SUCCEEDED'],
      ['b', 'dependency', 'SUCCEEDED'],
      ['c', 'dependency', 'SUCCEEDED'],
      ['d', 'dependency', 'SUCCEEDED'],
    ],
  )
  const runIds = new Set(ended.map(({ graphRunId }) => graphRunId))
  assert.deepEqual([runIds.size, runIds.has(null)], [1, false])
  const parents = kit.runs(d)[0]!.parents
  assert.deepEqual(
    parents.map(({ executionId, status, result }) => [executionId, status, result]),
    kit
      .runs()
      .slice(1, 3)
      .map((run) => [run.executionId, 'SUCCEEDED', run.result]),
  )
  const triggered = await kit.trigger(a)
  assert.equal(kit.runs(d).length, 2)
  assert.equal(triggered.graphRunId, kit.runs(d)[1]!.graphRunId)
  assert(!runIds.has(triggered.graphRunId))
})

test('a rule that can no longer be met skips the dependent job, and so on downwards', async () => {
  const { ran, fails, job, b, d, createKit } = diamond()
  const alert = job('alert', { dependsOn: [{ job: b, on: 'failure' }] })
  job('after', { dependsOn: [{ job: alert, on: 'completion' }] })
  job('quiet', { dependsOn: [{ job: d, on: 'completion' }] })
  fails.add('b')
  const kit = createKit()
  await kit.advance('1h')
  assert.deepEqual(ran, ['a', 'b<a:A', 'c<a:A', 'alert<b:FAILED', 'after<alert:ALERT'])
  assert.deepEqual(
    [kit.runs(d)[0]!.status, kit.runs(d)[0]!.skipMessage],
    ['SKIPPED', 'It runs on success of "b", which ended FAILED.'],
  )
  assert.equal(kit.runs('quiet')[0]!.status, 'SKIPPED')
  fails.clear()
  await kit.advance('1h')
  assert.equal(kit.runs(alert)[1]!.status, 'SKIPPED')
  assert.equal(kit.runs(d)[1]!.status, 'SUCCEEDED')
})

test('a failed attempt that is retried keeps the dependent jobs waiting', async () => {
  const { fails, job, createKit } = setup()
  const a = job('a', { schedule: '@daily', retry: { maxRetries: 1, initialDelay: '10s' } })
  const b = job('b', { dependsOn: [a] })
  fails.add('a')
  const kit = createKit()
  await kit.trigger(a)
  assert.deepEqual(statuses(kit), { a: 'RETRYING', b: 'WAITING_DEPENDENCIES' })
  fails.clear()
  await kit.advance('10s')
  assert.deepEqual(statuses(kit), { a: 'SUCCEEDED', b: 'SUCCEEDED' })
  assert.equal(kit.runs(b)[0]!.attempts.length, 1)
})

test('roots with the same schedule share a run; if one is triggered alone, the last outcome of the other counts', async () => {
  const { ran, fails, job, createKit } = setup()
  const a = job('a', { schedule: '@hourly' })
  const b = job('b', { schedule: '@hourly', jitter: '10m' })
  const c = job('c', { dependsOn: [a, b] })
  const kit = createKit()
  await kit.trigger(a)
  assert.equal(kit.runs(c)[0]!.skipMessage, 'It runs on success of "b", of which no execution has ended.')
  await kit.advance('70m')
  assert.deepEqual(ran, ['a', 'a', 'b', 'c<a:A,b:B'])
  await kit.trigger(a)
  assert.deepEqual(ran.slice(-2), ['a', 'c<a:A,b:B'])
  fails.add('b')
  await kit.advance('70m')
  assert.equal(kit.runs(c).at(-1)!.status, 'SKIPPED')
})

for (const order of ['first', 'last'] as const) {
  test(`a root with a skipped slot keeps no run waiting, when it comes ${order}`, async () => {
    const { job } = setup()
    const slow = job('slow', { schedule: '@hourly', run: () => kit.sleep('90m') })
    const quick = job('quick', { schedule: '@hourly', overlap: 'ALLOW' })
    const after = job('after', { dependsOn: [quick, { job: slow, on: 'completion' }] })
    const jobs = order === 'first' ? [slow, quick, after] : [quick, slow, after]
    const kit = createTestKit({ jobs, now })
    await kit.advance('290m')
    // The run goes on for 90 minutes, so every second slot is skipped; a slot that was is no completion.
    assert.deepEqual(
      kit.runs(after).map(({ status }) => status),
      ['SUCCEEDED', 'SKIPPED', 'SUCCEEDED', 'SKIPPED'],
    )
  })
}

test('the overlap of a root concerns its run', async () => {
  const { job, createKit } = setup()
  const nap = (ms: number) => () => kit.sleep(ms)
  const a = job('a', { schedule: '@hourly' })
  job('b', { dependsOn: [a], run: nap(90 * 60_000) })
  const one = job('one', { schedule: '@hourly', overlap: 'CANCEL_RUNNING' })
  job('two', { dependsOn: [one], run: nap(90 * 60_000) })
  const all = job('all', { schedule: '@hourly', overlap: 'BUFFER_ALL' })
  job('three', { dependsOn: [all], run: nap(90 * 60_000) })
  const kit = createKit()
  await kit.advance('3h')
  const of = (key: string) => kit.runs(key).map(({ status }) => status)
  assert.deepEqual(of('a'), ['SUCCEEDED', 'SKIPPED', 'SUCCEEDED'])
  assert.deepEqual(of('b'), ['SUCCEEDED', 'RUNNING'])
  assert.deepEqual(of('one'), ['SUCCEEDED', 'SUCCEEDED', 'SUCCEEDED'])
  assert.deepEqual(of('two'), ['CANCELLED', 'CANCELLED', 'RUNNING'])
  assert.deepEqual(of('all'), ['SUCCEEDED', 'SUCCEEDED', 'PENDING'])
  assert.deepEqual(of('three'), ['SUCCEEDED', 'RUNNING', 'WAITING_DEPENDENCIES'])
})

test('an interval from the end counts from the end of the run', async () => {
  const { job, createKit } = setup()
  const a = job('a', { schedule: { type: 'INTERVAL', interval: 'PT10M', after_completion: true } })
  job('b', { dependsOn: [a], run: () => kit.sleep('5m') })
  const kit = createKit()
  await kit.advance('45m')
  const times = kit.runs(a).map(({ scheduledTime }) => scheduledTime.toISOString().slice(11, 16))
  assert.deepEqual(times, ['00:10', '00:25', '00:40'])
})

test('a cancelled root cancels its run; a cancelled inner node only skips the nodes behind it', async () => {
  const { job, createKit } = setup()
  const a = job('a', { schedule: '@hourly', run: () => kit.sleep('5m') })
  const b = job('b', { dependsOn: [a], run: () => kit.sleep('5m') })
  job('c', { dependsOn: [{ job: b, on: 'completion' }] })
  job('d', { dependsOn: [a] })
  const kit = createKit()
  const first = await kit.trigger(a)
  await kit.cancel(first)
  assert.deepEqual(statuses(kit), { a: 'CANCELLED', b: 'CANCELLED', c: 'CANCELLED', d: 'CANCELLED' })
  await kit.trigger(a)
  await kit.advance('6m')
  await kit.cancel(kit.runs(b)[1]!)
  assert.deepEqual(statuses(kit), { a: 'SUCCEEDED', b: 'CANCELLED', c: 'SKIPPED', d: 'SUCCEEDED' })
})

test('a job that runs after others has no slots, and triggered it runs alone, with the parents that are given', async () => {
  const { ran, job, createKit } = setup()
  const a = job('a', { schedule: '@yearly' })
  const b = job('b', { dependsOn: [a], schedule: '@hourly' })
  job('c', { dependsOn: [b] })
  const kit = createKit()
  assert.deepEqual(kit.next(b), [])
  await kit.advance('3h')
  const parents = [
    { job: a, result: { rows: 3 } },
    { job: 'x', status: 'FAILED' as const },
  ]
  const run = await kit.trigger(b, undefined, { parents })
  assert.deepEqual(ran, ['b<undefined:[object Object],undefined:FAILED'])
  assert.deepEqual([run.kind, run.graphRunId, run.parents[0]!.result], ['trigger', null, { rows: 3 }])
  await kit.trigger(b)
  assert.deepEqual([ran.length, ran[1]], [2, 'b'])
})

test('4 KB of a result arrive, and a cut result is text', async () => {
  const { job, createKit } = setup()
  const a = job('a', { schedule: '@daily', run: () => ({ text: '€'.repeat(2_000) }) })
  const b = job('b', { dependsOn: [a], run: (_, { parents }) => parents[0]!.result })
  const kit = createKit()
  await kit.trigger(a)
  const arrived = kit.runs(b)[0]!.result as string
  assert.equal(typeof arrived, 'string')
  assert.equal(arrived, JSON.stringify({ text: '€'.repeat(2_000) }).slice(0, arrived.length))
  assert(Buffer.byteLength(arrived) > 4_090 && Buffer.byteLength(arrived) <= 4_096)
})

test('jobs that the kit does not have count as never run, and circles are refused', async () => {
  const { a, d, b, c } = diamond()
  const kit = createTestKit({ jobs: [a, b, d], now })
  await kit.trigger(a)
  assert.equal(kit.runs(d)[0]!.skipMessage, 'It runs on success of "c", of which no execution has ended.')
  const circle = defineJob({ key: 'a', dependsOn: [d], run() {} })
  assert.throws(
    () => createTestKit({ jobs: [circle, b, c, d], now }),
    /a runs after d runs after b runs after a/,
  )
})
