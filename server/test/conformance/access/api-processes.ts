// Conformance: processes with the role api, as long as they report their requests.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import type { StoreScenario } from '../stores.ts'

type Setup = (t: TestContext) => Promise<StoreScenario>

const termMs = 7_000

export function testApiProcesses(name: string, setup: Setup): void {
  test(`${name}: a process is told the latest requests of the others, until they leave`, async (t) => {
    const { apiProcesses, ids } = await setup(t)
    const [first, second] = [ids.next(), ids.next()]
    const [sales, support] = [ids.next(), ids.next()]
    const report = (processId: string, ...rates: [string, number][]) =>
      apiProcesses.report({ processId, rates: new Map(rates) }, termMs)
    assert.deepEqual(await report(first, [sales, 2.5]), [])
    assert.deepEqual(await report(second), [{ processId: first, rates: new Map([[sales, 2.5]]) }])
    assert.deepEqual(await report(first, [sales, 100], [support, 0.5]), [
      { processId: second, rates: new Map() },
    ])
    const rates = new Map([
      [sales, 100],
      [support, 0.5],
    ])
    assert.deepEqual(await report(second), [{ processId: first, rates }])
    await apiProcesses.leave(first)
    await apiProcesses.leave(first)
    assert.deepEqual(await report(second), [])
  })

  test(`${name}: a process that reports no more is left out after the term, and forgotten after an hour`, async (t) => {
    const { apiProcesses, ids, ageLeases } = await setup(t)
    const [silent, alive] = [ids.next(), ids.next()]
    const report = (processId: string, term = termMs) =>
      apiProcesses.report({ processId, rates: new Map([[processId, 1]]) }, term)
    await report(silent)
    await ageLeases(termMs - 3_000)
    assert.deepEqual(
      (await report(alive)).map(({ processId }) => processId),
      [silent],
    )
    await ageLeases(3_500)
    assert.deepEqual(await report(alive), [])
    await ageLeases(3_600_000)
    await report(alive)
    assert.deepEqual(await report(alive, 24 * 3_600_000), [])
  })
}
