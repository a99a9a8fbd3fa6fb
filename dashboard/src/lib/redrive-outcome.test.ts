import assert from 'node:assert/strict'
import { test } from 'node:test'
import { redriveOutcome, redriveStatus, redriveText } from './redrive-outcome.ts'

const operation = { operation_id: '05', progress: { done: 3 } }
const run = (execution_id: string, status: string) => ({ execution_id, status })

test('executions of the redrive are counted by their end, and earlier ones are not', () => {
  const newestFirst = [
    run('08', 'FAILED'),
    run('07', 'SUCCEEDED'),
    run('06', 'RETRYING'),
    run('04', 'FAILED'),
  ]
  const outcome = redriveOutcome(operation, newestFirst, true)
  assert.deepEqual(outcome, { succeeded: 1, failed: 1, underWay: 1 })
  assert.equal(redriveText(outcome!), '1 succeeded, 1 failed again, 1 under way')
})

test('a redrive of which all failed again is not shown as a success', () => {
  const newestFirst = [run('08', 'FAILED'), run('07', 'TIMED_OUT'), run('06', 'FAILED')]
  const outcome = redriveOutcome(operation, newestFirst, true)!
  assert.equal(redriveText(outcome), '0 succeeded, 3 failed again')
  assert.equal(redriveStatus(outcome), 'FAILED')
  assert.equal(redriveStatus({ succeeded: 1, failed: 0, underWay: 2 }), 'RUNNING')
  assert.equal(redriveStatus({ succeeded: 3, failed: 0, underWay: 0 }), 'SUCCEEDED')
})

test('nothing is claimed when another redrive ran meanwhile, or when not all executions are on the page', () => {
  const four = ['06', '07', '08', '09'].map((id) => run(id, 'SUCCEEDED')).toReversed()
  assert.equal(redriveOutcome(operation, four, true), null)
  assert.equal(redriveOutcome(operation, four.slice(0, 2), false), null)
})
