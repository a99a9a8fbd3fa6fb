// Jobs in the states that a change may meet.
import assert from 'node:assert/strict'
import { partitionsCount } from '../../../src/domain/jobs/job.ts'
import type { NewJob } from '../../../src/ports/jobs.ts'
import { missed } from '../scenario.ts'
import type { StoreScenario } from '../stores.ts'
import { change, remove } from './changes.ts'

/** A job that runs each second, of which the slots 0 to 2 ran, and the cursor lags behind at 0. */
export async function makeActive(s: StoreScenario): Promise<NewJob> {
  const job = await s.createJob()
  for (const second of [0, 1, 2]) {
    await s.fire(job, second)
    await s.runAll()
  }
  return job
}

/** The same, with its cursor moved behind them. */
export async function makeMoved(s: StoreScenario): Promise<NewJob> {
  const job = await s.createJob()
  for (const second of [0, 1, 2]) {
    const next = s.at(second + 1)
    await s.fire(job, second, { move: { slotAt: next, dueAt: next, decidedTo: s.at(second) } })
    await s.runAll()
  }
  return job
}

export async function makeCompleted(s: StoreScenario): Promise<NewJob> {
  const job = await s.createJob({
    schedule: { type: 'CRON', cron_expression: '* * * * * *', end_at: new Date(s.at(0)).toISOString() },
  })
  await s.fire(job, 0, { move: { slotAt: null, dueAt: null, decidedTo: s.at(0) } })
  await s.runAll()
  return job
}

export async function makeDeleted(s: StoreScenario): Promise<NewJob> {
  const job = await makeCompleted(s)
  await change(s, job, remove)
  return job
}

/** Owes the slots 1 to 4 and 9 to 10, while the execution of slot 0 runs; between them are skips. */
export async function oweSlots(s: StoreScenario) {
  const job = await s.createJob()
  const to = (second: number) => ({
    slotAt: s.at(second + 1),
    dueAt: s.at(second + 1),
    decidedTo: s.at(second),
  })
  await s.fire(job, 0)
  const workerId = await s.addWorker()
  const batch = await s.claimBatch(workerId)
  assert.equal(await s.tryFire(job, 1, { late: true, owedTo: s.at(4), move: to(4) }), 'deferred')
  assert.equal(await s.tryFire(job, 5, { previousSlot: s.at(4), move: to(5) }), 'overlap')
  const skipped = missed({ from: s.at(6), to: s.at(8), count: 3 })
  const second = { late: true, skipped, owedTo: s.at(10), move: to(10) }
  assert.equal(await s.tryFire(job, 9, second), 'deferred')
  assert.deepEqual(await s.owedBy(job), { from: s.at(1), to: s.at(10) })
  return { job, workerId, batch }
}

/** The cursors of all jobs that are new or changed. */
export async function takeAllChanges(s: StoreScenario) {
  const everyPartition = Array.from({ length: partitionsCount }, (_, id) => id)
  return s.slots.takeChanges(everyPartition, 100)
}
