import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import type { JobRequest } from '#contract/job.ts'
import { startScriptedApi } from '../test/scripted-api.ts'
import { createClient } from './client.ts'
import { type AnyJob, defineJob, type JobOptions } from './define-job.ts'
import { putJobs } from './put-jobs.ts'

const otherId = '01941f29-7c00-7000-8000-00000000000a'

function job(key: string, options: Partial<JobOptions<unknown, unknown>> = {}): AnyJob {
  return defineJob({ key, run() {}, ...options })
}

/** Puts jobs; returns the requests, in order. */
async function setup(t: TestContext, jobs: readonly AnyJob[]) {
  const api = await startScriptedApi(t, ({ path }) => ({
    body: { job_id: `id of ${path.split('/').at(-1)}` },
  }))
  const ids = await putJobs(createClient({ url: api.url, key: 'k' }), jobs)
  const put = api.asked.map(({ path, body }) => {
    const { schedule, depends_on } = body as JobRequest
    return { key: path.split('/').at(-1), schedule, depends_on }
  })
  return { ids, put }
}

test('jobs are put after the jobs they depend on, with the ids from the answers', async (t) => {
  const extract = job('extract', { schedule: '@daily' })
  const transform = job('transform', { dependsOn: [extract] })
  const load = job('load', { dependsOn: [transform, { job: extract, on: 'completion' }] })
  const alert = job('alert', {
    dependsOn: [{ job: load, on: 'failure' }, { jobId: otherId }],
    schedule: '@hourly',
  })
  const { put, ids } = await setup(t, [alert, load, job('alone'), transform, extract])
  assert.deepEqual(put, [
    { key: 'extract', schedule: '@daily', depends_on: undefined },
    { key: 'transform', schedule: undefined, depends_on: [{ job_id: 'id of extract', on: 'success' }] },
    {
      key: 'load',
      schedule: undefined,
      depends_on: [
        { job_id: 'id of transform', on: 'success' },
        { job_id: 'id of extract', on: 'completion' },
      ],
    },
    {
      key: 'alert',
      schedule: '@hourly',
      depends_on: [
        { job_id: 'id of load', on: 'failure' },
        { job_id: otherId, on: 'success' },
      ],
    },
  ])
  assert.deepEqual([...ids.keys()], ['extract', 'transform', 'load', 'alert'])
})

test('the dependencies of a job are put along with it, and a job of the list stands for its key', async (t) => {
  const extract = job('extract', { schedule: '@daily' })
  const load = job('load', { dependsOn: [extract] })
  assert.deepEqual(
    (await setup(t, [load])).put.map(({ key }) => key),
    ['extract', 'load'],
  )
  const other = job('extract', { schedule: '@hourly' })
  assert.deepEqual(
    (await setup(t, [load, other])).put.map(({ schedule }) => schedule),
    ['@hourly', undefined],
  )
})

test('jobs that would wait for each other are refused, with the circle spelled out', async (t) => {
  const first = job('a', { schedule: '@daily' })
  const b = job('b', { dependsOn: [first] })
  const c = job('c', { dependsOn: [b] })
  const a = job('a', { dependsOn: [c] })
  await assert.rejects(
    setup(t, [a, b, c, job('d', { dependsOn: [a] })]),
    /^TypeError: These jobs would wait for each other for ever: a runs after c runs after b runs after a\.$/,
  )
  assert.throws(() => job('a', { dependsOn: [first] }), /dependsOn of a: it would run after itself/)
})

test('two jobs with the same key, and a dependency that is in no API, are refused by name', async (t) => {
  const [one, two] = [job('a', { schedule: '@daily' }), job('a', { schedule: '@hourly' })]
  const children = [job('b', { dependsOn: [one] }), job('c', { dependsOn: [two] })]
  await assert.rejects(setup(t, children), /dependsOn of c: there are two jobs with the key a/)
  await assert.rejects(
    setup(t, [children[0]!, job('a')]),
    /dependsOn of b: the job a of the list has neither a schedule nor dependsOn/,
  )
})

test('an invalid dependency is refused where it is written, and the field is named', () => {
  const a = job('a', { schedule: '@daily' })
  const wrong = (dependsOn: unknown) => () => job('b', { dependsOn } as never)
  assert.throws(wrong([a, 'a']), /dependsOn\[1\] of b must be a job made by defineJob/)
  assert.throws(wrong([{ jobId: 'a' }]), /dependsOn\[0\] of b must be/)
  assert.throws(wrong([null]), /dependsOn\[0\] of b must be/)
  assert.throws(wrong('a'), /dependsOn of b must be an array/)
  assert.throws(
    wrong([{ job: a, on: 'failed' }]),
    /on of dependsOn\[0\] of b is "failed".*success, completion/,
  )
  assert.throws(wrong([a, { job: a, on: 'failure' }]), /dependsOn of b has a twice/)
  assert.throws(
    wrong([{ jobId: otherId }, { jobId: otherId.toUpperCase() }]),
    new RegExp(`dependsOn of b has ${otherId} twice`),
  )
  assert.throws(wrong(Array(1_000).fill(a)), /dependsOn of b has 1000: 999 at most/)
  assert.throws(wrong([job('c')]), /dependsOn\[0\] of b: c has neither a schedule nor dependsOn/)
})

test('a job stays as it was defined when the list it was given changes later', () => {
  const dependsOn = [job('a', { schedule: '@daily' })]
  const b = job('b', { dependsOn })
  dependsOn.push(b)
  assert.equal(b.dependsOn!.length, 1)
})
