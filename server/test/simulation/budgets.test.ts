// The executions a minute of tenants, on the virtual clock: how many start, how far apart, and how many are skipped, with
// several servers, and while some of them crash.
import assert from 'node:assert/strict'
import test from 'node:test'
import { type BudgetGrant, quotaHost } from '../../src/domain/tenants/execution-budget.ts'
import type { ExecutionBudgets } from '../../src/ports/execution-budgets.ts'
import type { SlotToFire } from '../../src/ports/slots.ts'
import { dueMs, judge, minuteMs, setup, startedBy } from './budget-load.ts'
import { noFaults } from './faults.ts'
import type { SimulationOptions } from './world.ts'

test('tenants of two tiers start a burst at once and then their rate, each on its own', async () => {
  const { sim, addTenant, addHerd, startsOf } = setup()
  const minutes = 3
  const tiers = [['free', 100, 1_500], ['pro', 1_000, 4_000]] as const // biome-ignore format: a table
  const tenants = await Promise.all(tiers.map(([tier]) => addTenant(tier)))
  for (const [index, [, , count]] of tiers.entries()) await addHerd(tenants[index]!, count)
  await sim.advance(dueMs + minutes * minuteMs)
  for (const [index, [tier, perMinute, count]] of tiers.entries()) {
    const starts = startsOf(tenants[index]!)
    assert.deepEqual(judge(starts, { perMinute, count, minutes }), [], tier)
  }
  const spaced = startsOf(tenants[0]!).slice(180)
  const gaps = spaced.slice(1).map((at, n) => at - spaced[n]!)
  assert(
    gaps.every((gap) => gap >= 400 && gap <= 1_100),
    `${Math.min(...gaps)} to ${Math.max(...gaps)} ms apart`,
  )
})

test('of a herd that its tenant cannot start within the misfire window the rest is skipped for quota', async () => {
  const { sim, addTenant, addHerd, outcomesOf } = setup()
  const tenantId = await addTenant('free')
  await addHerd(tenantId, 2_000, 600)
  await sim.advance(dueMs + 11 * minuteMs)
  const { succeeded, 'skipped quota': skipped } = outcomesOf(tenantId)
  assert(succeeded! >= 1_179 && succeeded! <= 1_180, `${succeeded} succeeded`)
  assert.equal(succeeded! + skipped!, 2_000)
  assert.equal(await sim.drain(minuteMs), true)
})

test('work that its tenant may not start yet delays no other tenant', async () => {
  const { sim, addTenant, addHerd, startsOf } = setup()
  const [small, other, unlimited] = await Promise.all(['free', 'free', 'unlimited'].map(addTenant))
  await addHerd(small!, 5_000)
  await addHerd(other!, 5)
  await addHerd(unlimited!, 50)
  await sim.advance(dueMs + 30_000)
  const started = startsOf(small!).length
  assert(started >= 228 && started <= 230, `${started} of 230`)
  for (const [tenantId, count] of [
    [other!, 5],
    [unlimited!, 50],
  ] as const) {
    // biome-ignore format: a table
    const starts = startsOf(tenantId)
    assert.equal(starts.length, count)
    assert(starts.at(-1)! < 1_000, `the last one after ${starts.at(-1)} ms`)
  }
})

test('while servers crash and calls of the store fail no tenant starts more than its limit, and little is forfeited', async () => {
  const rates = {
    ...noFaults,
    crashEveryMs: 40_000,
    restartMsMax: 5_000,
    refusedShare: 0.01,
    lostShare: 0.01,
  }
  const { sim, addTenant, addHerd, startsOf, outcomesOf } = setup(rates)
  const tenantId = await addTenant('free')
  await addHerd(tenantId, 1_000)
  const minutes = 9
  await sim.advance(dueMs + minutes * minuteMs)
  const starts = startsOf(tenantId)
  for (let minute = 0; minute <= minutes; minute++)
    assert(startedBy(starts, minute * minuteMs) <= 180 + minute * 100, `minute ${minute}`)
  // A draw whose fire failed is lost; one that lets executions go is one transaction with them.
  assert(starts.length >= 180 + minutes * 100 - 250, `${starts.length} started`)
  sim.heal()
  assert.equal(await sim.drain(30 * minuteMs), true)
  assert.deepEqual(outcomesOf(tenantId), { succeeded: 1_000 })
})

test('a scheduler that dies between its charges and their fires forfeits these charges and nothing else', async (t) => {
  const [perMinute, count, minutes] = [1_000, 4_000, 3]
  let [fired, answered, left] = [0, 0, 0]
  /** Draws of each server whose slots have not been fired. Several fires of a server are under way at once. */
  const underWay = new Map<string, number>()
  const note = (server: string, by: number) => underWay.set(server, (underWay.get(server) ?? 0) + by)
  const granted: number[] = []
  const options: Partial<SimulationOptions> = {
    servers: [['scheduler'], ['scheduler'], ['worker']],
    onEvent(_at, server, what, [slots]) {
      if (what === 'executionBudgets.draw') note(server, 1)
      if (/^slots\.fire(AndClaim)?$/.test(what)) {
        note(server, -1)
        fired += (slots as readonly SlotToFire[]).filter(({ heldBack }) => heldBack === undefined).length
      }
      // In the middle of the burst: it never hears the answer.
      if (what !== 'executionBudgets.draw answered' || ++answered !== 2) return
      left = underWay.get(server)!
      sim.crash(server, minutes * minuteMs)
    },
    onDone(name, _args, result) {
      if (name !== 'executionBudgets.draw') return
      void result.then((grants) => {
        granted.push((grants as readonly BudgetGrant[]).reduce((sum, grant) => sum + grant.granted, 0))
      })
    },
  }
  const { sim, addTenant, addHerd, startsOf, outcomesOf } = setup(noFaults, options)
  const tenantId = await addTenant('pro')
  await addHerd(tenantId, count)
  await sim.advance(dueMs + minutes * minuteMs)
  const charged = granted.reduce((sum, one) => sum + one, 0)
  const forfeited = charged - fired
  t.diagnostic(`${forfeited} of ${charged} charges were forfeited`)
  const largest = granted.toSorted((a, b) => b - a).slice(0, left)
  assert.ok(
    forfeited > 0 && forfeited <= largest.reduce((sum, one) => sum + one, 0),
    `${forfeited} were forfeited, by ${left} of the charges ${granted}`,
  )
  const starts = startsOf(tenantId)
  for (let minute = 1; minute <= minutes; minute++) {
    const allowed = Math.min(count, perMinute * (1.8 + minute) - forfeited)
    const started = startedBy(starts, minute * minuteMs)
    assert.ok(started <= allowed && started >= allowed - 20, `${started} of ${allowed} in minute ${minute}`)
  }
  assert.equal(await sim.drain(5 * minuteMs), true)
  assert.deepEqual(outcomesOf(tenantId), { succeeded: count })
})

/** A herd of the tier free whose calls fail the first time in one case of three. */
async function startsUnder(tamper?: SimulationOptions['tamper']): Promise<string[]> {
  const { sim, addTenant, addHerd, startsOf } = setup(noFaults, tamper === undefined ? {} : { tamper })
  const seen = new Set<string>()
  const isFailing = (url: string) => Number(/host-(\d+)/.exec(url)![1]) % 3 === 0
  for (let n = 0; n < 64; n += 3) {
    sim.world.http.answer(`https://host-${n}.example`, ({ headers }) => {
      const id = headers['x-execution-id']!
      const isFirst = !seen.has(id)
      seen.add(id)
      return { status: isFirst ? 500 : 200, afterMs: 20 }
    })
  }
  const tenantId = await addTenant('free')
  await addHerd(tenantId, 900)
  await sim.advance(dueMs + 5 * minuteMs)
  const wrong = judge(startsOf(tenantId), { perMinute: 100, count: 900, minutes: 5 })
  // With a delay of a second, and its jitter.
  const sent = sim.world.http.sent.filter(({ at }) => at < sim.nowMs - 10_000)
  const failed = new Set(
    sent.flatMap(({ request }) => (isFailing(request.url) ? request.headers['x-execution-id']! : [])),
  )
  const calls = sim.world.http.sent.filter(({ request }) =>
    failed.has(request.headers['x-execution-id']!),
  ).length
  if (calls < 2 * failed.size) wrong.push(`${2 * failed.size - calls} of ${failed.size} were not tried again`)
  return wrong
}

test('retries cost nothing of the budget', async () => {
  assert.deepEqual(await startsUnder(), [])
})

test('a draw that is not kept is found', async () => {
  const wrong = await startsUnder((tables) => {
    const { executionBudgets, store } = tables
    const budgets: ExecutionBudgets = {
      limits: (ids) => executionBudgets.limits(ids),
      limitsRevision: () => executionBudgets.limitsRevision(),
      async draw(orders) {
        const before = [...store.budgets]
        const grants = await executionBudgets.draw(orders)
        store.budgets.clear()
        for (const [tenantId, budget] of before) store.budgets.set(tenantId, budget)
        return grants
      },
      giveBack: (charges) => executionBudgets.giveBack(charges),
      letGo: (order) => executionBudgets.letGo(order),
      skipExpired: (limit) => executionBudgets.skipExpired(limit),
      spent: (tenantId) => executionBudgets.spent(tenantId),
    }
    return { ...tables, executionBudgets: budgets }
  })
  assert.match(wrong[0]!, /^\d+ of 280 in minute 1$/)
})

test('a charge for each attempt is found', async () => {
  const wrong = await startsUnder((tables) => {
    const { maintenance, store } = tables
    const wake = async (limit: number) => {
      const retrying = store.retrying.take(limit)
      const count = await maintenance.wake(limit)
      for (const row of retrying) if (row.state === 'ready') store.changeLive(row, { host: quotaHost })
      return count
    }
    const tampered = new Proxy(maintenance, {
      get(target, key) {
        const method = Reflect.get(target, key, target) as (...args: unknown[]) => unknown
        return key === 'wake' ? wake : method.bind(target)
      },
    })
    return { ...tables, maintenance: tampered }
  })
  assert.match(wrong[0]!, /^\d+ of \d+ were not tried again$/)
})
