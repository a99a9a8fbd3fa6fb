import assert from 'node:assert/strict'
import test from 'node:test'
import type { FoldedStats } from '../ports/rollups.ts'
import { StatsFold } from './fold-stats.ts'

function setup(answers: (FoldedStats | null | Error)[]) {
  const spans: number[] = []
  const rollups = {
    async foldStats(spanMs: number) {
      spans.push(spanMs)
      const answer = answers.shift() ?? null
      if (answer instanceof Error) throw answer
      return answer
    },
  }
  return { spans, fold: new StatsFold(rollups) }
}

test('the fold of statistics takes longer spans while few executions end, and short ones once many do', async () => {
  const { fold, spans } = setup([
    { ended: 1, isFull: true },
    { ended: 1, isFull: true },
    { ended: 5_000, isFull: true },
    { ended: 1, isFull: false },
  ])
  const steps = [await fold.step(), await fold.step(), await fold.step(), await fold.step()]
  assert.deepEqual(steps, ['more', 'more', 'more', 'idle'])
  assert.deepEqual(spans, [10_000, 20_000, 40_000, 10_000])
})

test('the fold of statistics begins with a short span again after a step that failed', async () => {
  const { fold, spans } = setup([{ ended: 1, isFull: true }, new Error('too large')])
  await fold.step()
  await assert.rejects(fold.step(), /too large/)
  assert.equal(await fold.step(), 'idle')
  assert.deepEqual(spans, [10_000, 20_000, 10_000])
})
