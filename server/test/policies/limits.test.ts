// concurrency_limit of a job, and concurrency_key shared by several.
import assert from 'node:assert/strict'
import test from 'node:test'
import type { ExecutionSummary } from '../../src/ports/executions.ts'
import { openScene } from './scene.ts'

const schedule = {
  type: 'CRON',
  cron_expression: '*/10 * * * * *',
  start_at: '2026-01-02T10:00:00Z',
  end_at: '2026-01-02T10:00:50Z',
} as const

/** The most that ran at one moment. */
function mostAtOnce(executions: readonly ExecutionSummary[]): number {
  const changes = executions.flatMap(({ startedAt, finishedAt }) => [
    { at: startedAt!, by: 1 },
    { at: finishedAt!, by: -1 },
  ])
  let [running, most] = [0, 0]
  for (const { by } of changes.toSorted((a, b) => a.at - b.at || a.by - b.by)) {
    running += by
    most = Math.max(most, running)
  }
  return most
}

test('concurrency_limit: so many of a job run at once, the others wait in the order of their slots', async () => {
  const scene = await openScene()
  const limits = { overlapPolicy: 'ALLOW', concurrencyLimit: 2 } as const
  const job = await scene.createJob(schedule, { ...limits, takesSeconds: 24 })
  await scene.runTo('10:05:00')
  assert.deepEqual(await scene.ranOf(job), [
    '10:00:00 SUCCEEDED 10:00:00 to 10:00:24',
    '10:00:10 SUCCEEDED 10:00:10 to 10:00:34',
    '10:00:20 SUCCEEDED 10:00:24 to 10:00:48',
    '10:00:30 SUCCEEDED 10:00:34 to 10:00:58',
    '10:00:40 SUCCEEDED 10:00:48 to 10:01:12',
    '10:00:50 SUCCEEDED 10:00:58 to 10:01:22',
  ])
  assert.deepEqual(await scene.skipsOf(job), [])
  assert.equal(await scene.statusOf(job), 'COMPLETED')
})

test('concurrency_key: of three jobs that share it never more run than its limit', async () => {
  const scene = await openScene()
  const concurrencyKey = { key: 'database', limit: 2 }
  const jobs = await Promise.all(
    (['ALLOW', 'BUFFER_ALL', 'ALLOW'] as const).map((overlapPolicy) =>
      scene.createJob(schedule, { overlapPolicy, concurrencyKey, takesSeconds: 7 }),
    ),
  )
  await scene.runTo('10:05:00')
  const executions = (await Promise.all(jobs.map(scene.executionsOf))).flat()
  assert.equal(mostAtOnce(executions), 2)
  // Two places: one is taken without a gap, the other is free from 7 to 10.
  const starts = executions.map(({ startedAt }) => (startedAt! - scene.at('10:00:00')) / 1_000)
  assert.deepEqual(
    starts.toSorted((a, b) => a - b),
    [0, 0, 7, 10, 14, 17, 21, 24, 28, 31, 35, 38, 42, 45, 49, 52, 56, 59],
  )
  assert(executions.every(({ status }) => status === 'SUCCEEDED'))
  for (const job of jobs) {
    const own = await scene.executionsOf(job)
    own.slice(1).forEach(({ startedAt }, i) => {
      assert(startedAt! >= own[i]!.startedAt!, 'a job runs its slots in order')
    })
    assert.deepEqual(await scene.skipsOf(job), [])
  }
})

test('concurrency_key: a hold-up is no way round it', async () => {
  const scene = await openScene()
  const concurrencyKey = { key: 'database', limit: 2 }
  const jobs = await Promise.all(
    (['ALLOW', 'SKIP', 'BUFFER_ONE'] as const).map((overlapPolicy) =>
      scene.createJob(schedule, { overlapPolicy, concurrencyKey, takesSeconds: 7 }),
    ),
  )
  scene.shut()
  await scene.runTo('10:00:55')
  await scene.boot()
  await scene.runTo('10:10:00')
  const executions = (await Promise.all(jobs.map(scene.executionsOf))).flat()
  assert.equal(executions.length, 18, 'all were late, none was misfired')
  assert(executions.every(({ status }) => status === 'SUCCEEDED'))
  assert.equal(mostAtOnce(executions), 2)
})
