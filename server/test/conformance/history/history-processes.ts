// Conformance: processes with the role `history`, as long as they beat.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import type { StoreScenario } from '../stores.ts'

type Setup = (t: TestContext) => Promise<StoreScenario>

const termMs = 15_000

export function testHistoryProcesses(name: string, setup: Setup): void {
  test(`${name}: a process with the role history is alive from its first beat until it leaves`, async (t) => {
    const { historyProcesses, ids } = await setup(t)
    const [first, second] = [ids.next(), ids.next()]
    assert.deepEqual(await historyProcesses.list(termMs), [])
    await historyProcesses.beat(second)
    await historyProcesses.beat(first)
    await historyProcesses.beat(first)
    assert.deepEqual(await historyProcesses.list(termMs), [first, second])
    await historyProcesses.leave(first)
    await historyProcesses.leave(first)
    assert.deepEqual(await historyProcesses.list(termMs), [second])
  })

  test(`${name}: a process with the role history that stops beating is dead after the term`, async (t) => {
    const { historyProcesses, ids, ageLeases } = await setup(t)
    const [silent, beating] = [ids.next(), ids.next()]
    await historyProcesses.beat(silent)
    await historyProcesses.beat(beating)
    await ageLeases(termMs - 5_000)
    assert.deepEqual(await historyProcesses.list(termMs), [silent, beating])
    await historyProcesses.beat(beating)
    await ageLeases(5_000)
    assert.deepEqual(await historyProcesses.list(termMs), [beating])
    await historyProcesses.beat(silent)
    assert.deepEqual(await historyProcesses.list(termMs), [silent, beating])
  })

  test(`${name}: a process with the role history that died long ago leaves nothing behind`, async (t) => {
    const { historyProcesses, ids, ageLeases } = await setup(t)
    const [dead, alive] = [ids.next(), ids.next()]
    await historyProcesses.beat(dead)
    await ageLeases(2 * 3_600_000)
    await historyProcesses.beat(alive)
    assert.deepEqual(await historyProcesses.list(24 * 3_600_000), [alive])
  })
}
