import assert from 'node:assert/strict'
import test from 'node:test'
import { epochMs } from '../../lib/time/epoch.ts'
import { burstOf, drawFrom, type ExecutionBudget, emptyAt, giveBackTo, spentAt } from './execution-budget.ts'

const start = Date.UTC(2026, 0, 1)
const free = (seconds: number) => ({ executionsPerMinute: 100, now: epochMs(start + seconds * 1_000) })
const slots = (count: number) => ({ use: 'slot', count, whole: false }) as const
const triggers = (count: number) => ({ use: 'trigger', count, whole: true }) as const

/** One draw at a time from a budget that was never used. */
function budgetOf() {
  let budget: ExecutionBudget | null = null
  return (seconds: number, ...orders: Parameters<typeof drawFrom>[2]) => {
    const drawn = drawFrom(budget, free(seconds), orders)
    budget = drawn.budget
    return drawn.grants.map(({ granted }) => granted)
  }
}

test('a burst is two minutes of executions, of which slots leave a tenth to triggers', () => {
  const draw = budgetOf()
  assert.deepEqual(draw(0, slots(500)), [180])
  assert.deepEqual(draw(0, slots(1)), [0])
  assert.deepEqual(draw(0, triggers(15), triggers(5), triggers(1)), [15, 5, 0])
})

test('after a burst exactly as many are granted as the rate earns', () => {
  const draw = budgetOf()
  draw(0, slots(180))
  const granted = Array.from({ length: 3_600 }, (_, second) => draw(second + 1, slots(1_000))[0]!)
  assert.equal(
    granted.reduce((sum, count) => sum + count),
    6_000,
  )
  // 600 ms each: never more than two in a second.
  assert.deepEqual(new Set(granted), new Set([1, 2]))
})

test('a budget that is not used fills up to one burst and no further', () => {
  const draw = budgetOf()
  draw(0, slots(180))
  assert.deepEqual(draw(86_400, slots(500)), [180])
})

test('triggers that ask for more than is left get nothing, and lose nothing by asking', () => {
  const draw = budgetOf()
  assert.deepEqual(draw(0, triggers(150), triggers(51), triggers(50), triggers(1)), [150, 0, 50, 0])
})

test('a refusal says when the rest will be there, and that more than a burst never will', () => {
  const { budget, grants } = drawFrom(null, free(0), [triggers(201), triggers(200), triggers(10), slots(1)])
  assert.deepEqual(
    grants.map(({ restInMs }) => restInMs),
    [null, 0, 6_000, 12_600],
  )
  assert.deepEqual(drawFrom(budget, free(6), [triggers(10)]).grants[0]!.granted, 10)
  assert.deepEqual(drawFrom(budget, free(5.999), [triggers(10)]).grants[0]!.granted, 0)
  assert.deepEqual(drawFrom(budget, free(12.6), [slots(1)]).grants[0]!.granted, 1)
})

test('without a limit everything is granted, and nothing is remembered', () => {
  const { budget, grants } = drawFrom(null, { ...free(0), executionsPerMinute: null }, [slots(1_000_000)])
  assert.equal(grants[0]!.granted, 1_000_000)
  assert.equal(budget.spent, 0)
})

test('a clock that was set back neither earns nor takes anything', () => {
  const { budget } = drawFrom(null, free(60), [slots(180)])
  const back = drawFrom(budget, free(0), [slots(1)])
  assert.equal(back.grants[0]!.granted, 0)
  assert.equal(back.budget.countedAt, budget.countedAt)
  assert.equal(drawFrom(back.budget, free(60.6), [slots(2)]).grants[0]!.granted, 1)
})

test('charges that are given back can be drawn again, and never more than was charged', () => {
  const { budget } = drawFrom(null, free(0), [slots(180)])
  assert.equal(drawFrom(giveBackTo(budget, 7), free(0), [slots(100)]).grants[0]!.granted, 7)
  assert.equal(giveBackTo(budget, 1_000).spent, 0)
})

test('the rate of another tier holds from the next draw on', () => {
  const { budget } = drawFrom(null, free(0), [slots(180)])
  const pro = { executionsPerMinute: 1_000, now: free(0).now }
  assert.equal(drawFrom(budget, pro, [slots(5_000)]).grants[0]!.granted, 1_800 - 180)
  const less = { executionsPerMinute: 10, now: free(0).now }
  assert.equal(drawFrom(budget, less, [slots(1)]).grants[0]!.granted, 0)
})

test('a tenant that moves to a smaller tier waits for no more than the burst of that tier', () => {
  const enterprise = { executionsPerMinute: 10_000, now: free(0).now }
  const { budget } = drawFrom(null, enterprise, [triggers(20_000)])
  assert.equal(spentAt(budget, 100, free(0).now), 200)
  assert.equal(emptyAt(budget, 100, free(0).now), free(120).now)
  const refused = drawFrom(budget, free(0), [triggers(1)])
  assert.deepEqual(refused.grants[0], { granted: 0, executionsPerMinute: 100, restInMs: 600 })
  assert.equal(drawFrom(refused.budget, free(0.6), [triggers(1)]).grants[0]!.granted, 1)
})

test('a clock that was far ahead, and is right again, holds a tenant up for no longer than a burst lasts', () => {
  const { budget } = drawFrom(null, free(86_400), [triggers(200)])
  const right = drawFrom(budget, free(0), [triggers(1)])
  assert.equal(right.grants[0]!.granted, 0)
  assert.equal(drawFrom(right.budget, free(240), [triggers(200)]).grants[0]!.granted, 200)
})

test('the spent part falls with time, and tells when nothing is left of it', () => {
  const { budget } = drawFrom(null, free(0), [slots(180)])
  assert.equal(spentAt(budget, 100, free(60).now), 80)
  assert.equal(emptyAt(budget, 100, free(60).now), free(108).now)
  assert.equal(spentAt(budget, 100, free(600).now), 0)
})

test('the smallest limit still lets one slot go', () => {
  assert.deepEqual([burstOf(1, 'slot'), burstOf(1, 'trigger')], [1, 2])
})
