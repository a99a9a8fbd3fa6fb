import assert from 'node:assert/strict'
import test from 'node:test'
import type { Folded, FoldOrder, RollupSource } from '../ports/rollups.ts'
import { RollupFold } from './fold-rollups.ts'

/** A store that answers each fold from a list, and remembers the orders. */
function setup(answers: (Folded | null | Error)[]) {
  const orders: (FoldOrder & { source: RollupSource })[] = []
  const rollups = {
    async fold(source: RollupSource, order: FoldOrder) {
      orders.push({ source, ...order })
      const answer = answers.shift() ?? null
      if (answer instanceof Error) throw answer
      return answer
    },
  }
  return { orders, fold: new RollupFold(rollups, 'tenant'), spans: () => orders.map(({ spanMs }) => spanMs) }
}

test('a fold takes longer spans while they hold few records, and goes on at once after a full span', async () => {
  const { fold, spans } = setup([
    { recorded: 10, spanMs: 10_000 },
    { recorded: 10, spanMs: 20_000 },
    { recorded: 10, spanMs: 1_500 },
  ])
  assert.deepEqual([await fold.step(), await fold.step(), await fold.step()], ['more', 'more', 'idle'])
  assert.deepEqual(spans(), [10_000, 20_000, 40_000])
})

test('a fold takes a shorter span after one with very many records', async () => {
  const { fold, spans } = setup([{ recorded: 300_000, spanMs: 10_000 }])
  await fold.step()
  await fold.step()
  assert.deepEqual(spans(), [10_000, 5_000])
})

test('a fold of a busy source waits until a span is worth a write, and of an idle source does not', async () => {
  const { fold, orders } = setup([
    { recorded: 2_000, spanMs: 2_000 },
    { recorded: 1, spanMs: 5_000 },
  ])
  for (let steps = 0; steps < 3; steps++) await fold.step()
  assert.deepEqual(
    orders.map(({ leastMs }) => leastMs),
    [1, 5_000, 1],
  )
})

test('a fold that failed begins again with its shortest span', async () => {
  const { fold, spans } = setup([{ recorded: 1, spanMs: 10_000 }, new Error('too large')])
  await fold.step()
  await assert.rejects(fold.step(), /too large/)
  assert.equal(await fold.step(), 'idle')
  assert.deepEqual(spans(), [10_000, 20_000, 1_000])
})

test('a fold that finds nothing to do keeps its span', async () => {
  const { fold, spans } = setup([{ recorded: 1, spanMs: 10_000 }, null])
  for (let steps = 0; steps < 3; steps++) await fold.step()
  assert.deepEqual(spans(), [10_000, 20_000, 20_000])
})
