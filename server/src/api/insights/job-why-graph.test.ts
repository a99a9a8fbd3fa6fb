import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import type { WhyReply } from '@carillon/contract/slot.ts'
import { runAll, setupApp } from '../../../test/app.ts'
import { at, fireSlot } from '../../../test/fire.ts'
import { sharedLane } from '../../domain/queue/lane.ts'
import { planRelease } from '../../domain/queue/release.ts'

const one = '2026-01-01T01:00:00Z'
const two = '2026-01-01T02:00:00Z'

/** extract, then clean, then load: the first hourly, each after the one before. */
async function setup(t: TestContext, changes: object = {}) {
  const parts = await setupApp(t)
  const { memory, world, call } = parts
  async function create(body: object): Promise<string> {
    const execution = { callback_url: 'http://127.0.0.1:7420/echo' }
    const made = await call('POST', '/jobs', { execution, ...body })
    assert.equal(made.statusCode, 201, made.body)
    return made.json().job_id
  }
  const extract = await create({ name: 'extract', schedule: '@hourly', ...changes })
  const clean = await create({ name: 'clean', depends_on: [{ job_id: extract, on: 'success' }] })
  const load = await create({ name: 'load', depends_on: [{ job_id: clean, on: 'success' }] })
  return {
    ...parts,
    ...{ create, extract, clean, load },
    async why(jobId: string, time?: string): Promise<WhyReply> {
      const answer = await call('GET', `/jobs/${jobId}/why${time === undefined ? '' : `?at=${time}`}`)
      assert.equal(answer.statusCode, 200, answer.body)
      return answer.json()
    },
    fire: (time: string) => fireSlot(parts, extract, time),
    goTo: (time: string) => world.advance(at(time) - world.clock.databaseNow()),
    async step(): Promise<void> {
      const tools = { newExecutionId: () => world.ids.nextBatch(), laneOf: () => sharedLane }
      await memory.runSteps.step(await memory.runSteps.findNoted(100, true), tools)
    },
    runId: () => [...memory.store.graphRuns.keys()].at(-1)!,
    executionOf: (jobId: string) => [...memory.store.jobs.get(jobId)!.live][0]!.executionId,
  }
}

const failed = { outcome: 'failed', error: { type: 'HTTP_ERROR', message: 'no' } } as const

test('a job with dependencies names the jobs it runs after, and on which outcome', async (t) => {
  const { why, load } = await setup(t)
  const { answer, status, reason } = await why(load)
  assert.equal(
    answer,
    'It does not fire by itself: it runs after "clean" (on success); trigger "extract" to run it after it, or the job itself to run it alone.',
  )
  assert.deepEqual([status, reason], ['WAITING_DEPENDENCIES', 'dependency'])
  const then = await why(load, one)
  assert.equal(
    then.answer,
    `No execution of the job has the scheduled time ${one}: it does not fire by itself, and runs after "clean".`,
  )
  assert.equal(then.status, 'NO_SLOT')
})

test('an execution that waits for others of its run names the open ones', async (t) => {
  const { why, fire, goTo, step, create, runId, executionOf, memory, world, extract, clean, load } =
    await setup(t)
  const both = [{ job_id: extract }, { job_id: clean }]
  const report = await create({ name: 'report', depends_on: both })
  await goTo(one)
  await fire(one)
  await step()
  const part = (jobId: string) => `its part of the graph run of ${one} (execution ${executionOf(jobId)})`
  const waits = `It waits: ${part(load)} waits for "clean" (WAITING_DEPENDENCIES) in the graph run ${runId()}.`
  for (const reply of [await why(load), await why(load, one)]) {
    assert.equal(reply.answer, waits)
    assert.deepEqual([reply.status, reply.reason], ['WAITING_DEPENDENCIES', 'dependency'])
    assert.deepEqual([reply.scheduled_time, reply.execution_id], [one, executionOf(load)])
  }
  assert.match((await why(report)).answer, /waits for "extract" \(PENDING\) and "clean" \(WAITING_/)
  await runAll({ memory, world })
  await step()
  for (const jobId of [load, report])
    assert.match((await why(jobId)).answer, /waits for "clean" \(PENDING\) in the graph run/)
  assert.match((await why(clean)).answer, /^It waits: its part of the graph run of .* has been ready since/)
})

test('one that was skipped says why, now and of its scheduled time', async (t) => {
  const { why, fire, goTo, step, runId, memory, world, clean, load } = await setup(t)
  await goTo(one)
  await fire(one)
  await step()
  for (const change of [{}, failed]) {
    await runAll({ memory, world }, change)
    await step()
  }
  const because = 'because it runs on success of "clean", which ended FAILED'
  const again = `POST /api/v1/graph-runs/${runId()}/resume runs it again`
  const then = await why(load, one)
  assert.equal(
    then.answer,
    `It was skipped: its part of the graph run of ${one} did not run, ${because} (execution ${then.execution_id}); ${again}.`,
  )
  assert.equal(then.status, 'SKIPPED')
  const now = await why(load)
  assert.equal(now.execution_id, then.execution_id)
  assert(
    now.answer.endsWith(`was skipped, ${because} (execution ${then.execution_id}); ${again}.`),
    now.answer,
  )
  const failedThen = (await why(clean, one)).answer
  assert.match(failedThen, /^It ran and failed: its part of the graph run of /)
  assert(failedThen.endsWith(`; ${again}.`), failedThen)
  const { answer, execution_id: executionId } = await why(clean)
  const turn = `its last turn, in the graph run of ${one}, failed: no (execution ${executionId})`
  assert(answer.endsWith(`; ${turn}; ${again}.`), answer)
})

test('a run that is still under way is to be resumed once it has ended', async (t) => {
  const { why, fire, goTo, step, create, runId, memory, world, extract, clean } = await setup(t)
  // Nobody takes it.
  const execution = { type: 'worker', handler: 'slow' }
  await create({ name: 'slow', depends_on: [{ job_id: extract }], execution })
  await goTo(one)
  await fire(one)
  await step()
  for (const change of [{}, failed]) {
    await runAll({ memory, world }, change)
    await step()
  }
  const later = `; once that run has ended, POST /api/v1/graph-runs/${runId()}/resume runs it again.`
  for (const reply of [await why(clean), await why(clean, one)])
    assert(reply.answer.endsWith(later), reply.answer)
})

test('a branch that was not taken is not offered for a resume, nor is a job that has run again since', async (t) => {
  const { why, fire, goTo, step, call, create, runId, memory, world, extract, clean } = await setup(t)
  const alarm = await create({ name: 'alarm', depends_on: [{ job_id: extract, on: 'failure' }] })
  await goTo(one)
  await fire(one)
  await step()
  for (const change of [{}, failed]) {
    await runAll({ memory, world }, change)
    await step()
  }
  assert.match(
    (await why(alarm)).answer,
    /was skipped, because .* which ended SUCCEEDED \(execution [^;]*\)\.$/,
  )
  assert.equal((await call('POST', `/graph-runs/${runId()}/resume`)).statusCode, 202)
  for (let runs = 0; runs < 2; runs++) {
    await runAll({ memory, world })
    await step()
  }
  const { answer } = await why(clean)
  assert(!answer.includes('its last turn'), answer)
})

test('a root that waits for the end of its earlier run names it', async (t) => {
  const { why, fire, goTo, step, runId, memory, world, extract } = await setup(t, {
    overlap_policy: 'BUFFER_ALL',
  })
  await goTo(one)
  await fire(one)
  await step()
  const earlier = runId()
  await runAll({ memory, world })
  await step()
  await goTo(two)
  const { executionId, answer } = await fire(two)
  assert.equal(answer, 'buffered')
  await step()
  for (const hour of [3, 4, 5, 6, 7, 8]) {
    await goTo(`2026-01-01T0${hour}:00:00Z`)
    await fire(`2026-01-01T0${hour}:00:00Z`)
    await step()
  }
  const text = `It waits: the slot ${two} (execution ${executionId}) waits for the end of the graph run ${earlier} (overlap_policy BUFFER_ALL).`
  for (const reply of [await why(extract), await why(extract, two)])
    assert.deepEqual([reply.answer, reply.reason], [text, 'overlap'])
})

test('a root that waits for something else does not wait for its own run', async (t) => {
  const key = { concurrency_key: { key: 'db', limit: 1 } }
  const { why, goTo, step, create, call, memory, world, extract } = await setup(t, key)
  const other = await create({ name: 'other', schedule: '@yearly', ...key })
  assert.equal((await call('POST', `/jobs/${other}/trigger`, {})).statusCode, 202)
  await memory.maintenance.release([other], (job, keys) => ({ ...planRelease(job, keys), executions: [] }))
  await goTo(one)
  await fireSlot({ memory, world }, extract, one, { limited: true })
  await step()
  const { answer, reason } = await why(extract)
  assert.match(answer, /waits for the concurrency_key "db": 1 of 1 in use\.$/)
  assert.equal(reason, 'concurrency_key')
})

test('a resumed root that a younger run has overtaken waits for its key and not for that run', async (t) => {
  const key = { concurrency_key: { key: 'db', limit: 1 } }
  const parts = await setup(t, { ...key, overlap_policy: 'CANCEL_RUNNING' })
  const { why, goTo, step, create, call, runId, memory, world, extract } = parts
  const release = (jobId: string) =>
    memory.maintenance.release([jobId], (job, keys) => ({ ...planRelease(job, keys), executions: [] }))
  const other = await create({ name: 'other', schedule: '@yearly', ...key })
  async function holdKey(): Promise<void> {
    assert.equal((await call('POST', `/jobs/${other}/trigger`, {})).statusCode, 202)
    assert.equal((await release(other)).ready, 1)
  }
  async function run(end: object = {}): Promise<void> {
    await release(extract)
    await runAll({ memory, world }, end)
    await step()
  }
  await goTo(one)
  await fireSlot({ memory, world }, extract, one, { limited: true })
  await step()
  await run(failed)
  await holdKey()
  const resume = await call('POST', `/graph-runs/${runId()}/resume`, {})
  assert.equal(resume.statusCode, 202, resume.body)
  await goTo(two)
  await fireSlot({ memory, world }, extract, two, { limited: true })
  await runAll({ memory, world })
  await step()
  // The slot goes first, and its run is under way from now on.
  await run()
  await holdKey()
  const { answer, reason } = await why(extract)
  assert.match(answer, /waits for the concurrency_key "db": 1 of 1 in use\.$/)
  assert.equal(reason, 'concurrency_key')
})

test('a slot that was skipped because of a run names the run', async (t) => {
  const { why, fire, goTo, step, runId, memory, world, extract } = await setup(t)
  await goTo(one)
  await fire(one)
  await step()
  await runAll({ memory, world })
  await step()
  await goTo(two)
  assert.equal((await fire(two)).answer, 'overlap')
  const text = `It was skipped: the slot ${two} came while the graph run ${runId()} was still under way (overlap_policy SKIP).`
  for (const _ of ['while it is under way', 'when it has ended']) {
    assert.equal((await why(extract, two)).answer, text)
    for (let i = 0; i < 2; i++) {
      await runAll({ memory, world })
      await step()
    }
  }
})

test('of a job that counts from the end it is told that its run goes on', async (t) => {
  const schedule = { type: 'INTERVAL', every_seconds: 3_600, after_completion: true }
  const { why, step, runId, memory, world, extract } = await setup(t, { schedule })
  const row = memory.store.jobs.get(extract)!
  const first = new Date(row.cursor.slotAt!).toISOString()
  await world.advance(row.cursor.slotAt! - world.clock.databaseNow())
  const move = { slotAt: null, dueAt: null, decidedTo: row.cursor.slotAt!, awaits: true } as const
  await fireSlot({ memory, world }, extract, first, { move })
  await step()
  await runAll({ memory, world })
  await step()
  const { answer, reason } = await why(extract)
  assert.equal(
    answer,
    `Its last execution has ended, and the next slot counts from the end of the graph run ${runId()}, which is under way.`,
  )
  assert.equal(reason, 'after_completion')
})
