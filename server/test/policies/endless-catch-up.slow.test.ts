// A catch-up that executions longer than the interval would never end.
import assert from 'node:assert/strict'
import test from 'node:test'
import { openScene } from './scene.ts'

test('a job with executions longer than its interval ends its catch-up, and skips slots again', async () => {
  const scene = await openScene()
  const every1 = {
    type: 'CRON',
    cron_expression: '* * * * * *',
    start_at: '2026-01-02T10:00:00Z',
    end_at: '2026-01-02T10:37:00Z',
  } as const
  const job = await scene.createJob(every1, { misfirePolicy: 'FIRE_ALL', takesSeconds: 2 })
  await scene.runTo('10:00:02')
  scene.shut()
  await scene.runTo('10:00:20')
  await scene.boot()
  await scene.runTo('10:40:00')
  const executions = await scene.executionsOf(job)
  const lateMs = executions.map(({ slot, startedAt }) => startedAt! - slot)
  // Each of a thousand that joined takes a second longer than its interval; some twenty were missed.
  assert(Math.max(...lateMs) > 900_000 && Math.max(...lateMs) < 1_100_000)
  assert(lateMs.at(-1)! < 1_000, 'it has caught up')
  const skipped = (await scene.skipsOf(job)).filter((range) => range.startsWith('overlap'))
  assert(skipped.length > 10)
})
