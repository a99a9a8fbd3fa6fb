import assert from 'node:assert/strict'
import test from 'node:test'
import { epochMs } from '../../lib/time/epoch.ts'
import type { ParentResult } from '../../ports/graph-runs.ts'
import type { Definition } from '../../ports/queue.ts'
import { fillAnswer } from './claim-answer.ts'
import type { OneClaimed } from './claimed-executions.ts'

const definition = { execution: {} } as Definition

function one(executionId: string, changes: Partial<OneClaimed> = {}): OneClaimed {
  const times = { slot: epochMs(0), rank: epochMs(0), totalDeadline: null }
  const plain = { jobId: 'j', version: 1, attempt: 1, fence: 1, idempotencyKey: null }
  return { executionId, kind: 'trigger', runId: null, ...plain, ...times, ...changes }
}

const child = (id: string) => one(id, { kind: 'dependency', runId: 'r' })

function setup(result: string | null = '1') {
  const asked: (readonly string[])[] = []
  const parent: ParentResult = { jobId: 'p', jobKey: 'k', executionId: 'e', status: 'SUCCEEDED', result }
  const graphRuns = {
    async parentsOf(ids: readonly string[]) {
      asked.push(ids)
      return new Map(ids.map((id) => [id, [parent]]))
    },
  }
  const fill = (all: readonly OneClaimed[]) => fillAnswer(graphRuns, all, () => definition)
  return { asked, fill }
}

const idsOf = (some: readonly OneClaimed[]) => some.map(({ executionId }) => executionId)

test('parents are not read for executions that have none', async () => {
  const { asked, fill } = setup()
  const { taken, left, parents } = await fill([
    one('a'),
    one('b', { runId: 'r' }),
    one('c', { kind: 'retry', runId: 'r' }),
  ])
  assert.deepEqual([idsOf(taken), left, parents.size, asked], [['a', 'b', 'c'], [], 0, []])
})

test('parents are asked for together, some at a time', async () => {
  const { asked, fill } = setup()
  const all = Array.from({ length: 120 }, (_, at) => (at % 2 === 0 ? child(`${at}`) : one(`${at}`)))
  const { taken, parents } = await fill(all)
  assert.equal(taken.length, 120)
  assert.equal(parents.size, 60)
  assert.deepEqual(parents.get('0'), [
    { job_id: 'p', job_key: 'k', execution_id: 'e', status: 'SUCCEEDED', result: 1 },
  ])
  assert.deepEqual(
    asked.map((ids) => ids.length),
    [25, 25, 10],
  )
})

test('an execution that does not fit into the answer is left out whole, and its parents are not even read', async () => {
  const { asked, fill } = setup('x'.repeat(1024 * 1024))
  const all = Array.from({ length: 200 }, (_, at) => child(`${at}`))
  const { taken, left } = await fill(all)
  assert.deepEqual(idsOf([...taken, ...left]), idsOf(all))
  assert.equal(taken.length, 7)
  assert.equal(asked.length, 1)
})

test('the first is taken however large it is', async () => {
  const { fill } = setup()
  const large = one('a', { payloadOverride: 'x'.repeat(9 * 1024 * 1024) })
  const { taken, left } = await fill([large, one('b')])
  assert.deepEqual([idsOf(taken), idsOf(left)], [['a'], ['b']])
})
