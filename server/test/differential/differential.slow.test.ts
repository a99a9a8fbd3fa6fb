// Enough histories to meet every operation and every transition; differential.test.ts plays one of them.
import assert from 'node:assert/strict'
import test from 'node:test'
import { compareStores } from './compare.ts'
import { allTransitions } from './observed-transitions.ts'

const met = new Map<string, number>()
const transitions = new Set<string>()

for (const seed of [1, 2, 3, 4, 6]) {
  test(`PostgreSQL answers and stores the same as the memory store, with seed ${seed}`, async (t) => {
    const compared = await compareStores(t, seed, 18)
    for (const [name, count] of compared.met) met.set(name, (met.get(name) ?? 0) + count)
    for (const name of compared.transitions) transitions.add(name)
  })
}

function assertAllMet(): void {
  const wanted = [
    'jobs.create',
    'jobs.change',
    'jobs.trigger',
    'slots.fire',
    'slots.fireAndClaim',
    'slots.load',
    'slots.takeChanges',
  ]
  wanted.push(
    'queue.claim',
    'queue.finishBatches',
    'queue.finishLive',
    'queue.releaseUnknown',
    'queue.findOwn',
  )
  wanted.push(
    'attempts.report',
    'attempts.update',
    'maintenance.reclaim',
    'maintenance.release',
    'maintenance.wake',
  )
  wanted.push(
    'maintenance.findOverdue',
    'runSteps.step',
    'graphRuns.cancel',
    'graphRuns.resume',
    'control.cancel',
  )
  wanted.push('control.retry', 'deadLetters.redrive', 'operations.step', 'requests.run', 'partitions.take')
  wanted.push('partitions.expel', 'executions.listExecutions', 'executions.getExecution', 'jobs.list')
  for (const name of wanted) assert.ok((met.get(name) ?? 0) > 0, `never met: ${name}`)
}

test('the comparison covers every kind of operation, not only polls', assertAllMet)

/** Too rare for the forty seconds of a history: each change of the wiring shifts the histories, and other ones are seen. */
const RARE = [
  'execution: nothing -- create -> waiting',
  'execution: ready -- hold -> waiting',
  'execution: retrying -- hold -> waiting',
  'execution: running -- fail -> timed_out',
  'execution: awaiting -- fail -> timed_out',
  'execution: running -- expire -> retrying',
  'execution: running -- expire -> timed_out',
  'execution: awaiting -- expire -> retrying',
  'execution: ready -- expire -> timed_out',
  'execution: ready -- skip for quota -> skipped',
  'execution: retrying -- expire -> timed_out',
  'execution: running -- lose -> failed',
  'job: PAUSED -- resume -> COMPLETED',
  'job: PAUSED -- delete -> DELETED',
  'graph run: SUCCEEDED -- resume -> RUNNING',
]

test('the histories go through every transition of the tables but the rare ones', () => {
  const unseen = allTransitions().filter((name) => !transitions.has(name) && !RARE.includes(name))
  assert.deepEqual(unseen, [])
})
