import assert from 'node:assert/strict'
import test from 'node:test'
import { createVirtualWorld } from '../../test/virtual-world.ts'
import { openMemoryStore } from '../../testing/memory-store/open-memory-store.ts'
import { historyBeatMs, historyTermMs } from '../domain/history/history-process.ts'
import { HistoryDuty } from './history-duty.ts'

function setup() {
  const world = createVirtualWorld()
  const { historyProcesses } = openMemoryStore(world.clock)
  const folded: string[] = []
  const join = (name: string, hasRole: boolean) => {
    const duty = new HistoryDuty(historyProcesses, { processId: world.ids.next(), hasRole })
    const fold = duty.guard(async () => {
      folded.push(name)
      return 'more'
    })
    return { duty, fold: () => fold(new AbortController().signal) }
  }
  /** Steps of the given duties for so long, as their loops make them. */
  const run = async (ms: number, ...duties: HistoryDuty[]) => {
    for (let passed = 0; passed < ms; passed += historyBeatMs) {
      await world.advance(historyBeatMs)
      for (const duty of duties) await duty.step()
    }
  }
  return { world, join, run, folded }
}

test('a process with the role history folds alone, and a scheduler leaves it to that process', async () => {
  const { join, run, folded } = setup()
  const history = join('history', true)
  const scheduler = join('scheduler', false)
  await run(60_000, history.duty, scheduler.duty)
  assert.deepEqual([await history.fold(), await scheduler.fold()], ['more', 'idle'])
  assert.deepEqual(folded, ['history'])
})

test('a scheduler folds where no process has the role history, and only once it has looked', async () => {
  const { join, folded } = setup()
  const scheduler = join('scheduler', false)
  assert.equal(await scheduler.fold(), 'idle')
  await scheduler.duty.step()
  assert.equal(await scheduler.fold(), 'more')
  assert.deepEqual(folded, ['scheduler'])
})

test('a scheduler takes over when the process with the role history dies, and gives back when one is alive again', async () => {
  const { join, run } = setup()
  const history = join('history', true)
  const scheduler = join('scheduler', false)
  await history.duty.step()
  await run(historyTermMs - historyBeatMs, scheduler.duty)
  assert.equal(scheduler.duty.isOnDuty, false)
  await run(historyBeatMs, scheduler.duty)
  assert.equal(scheduler.duty.isOnDuty, true)
  const again = join('again', true)
  await run(historyBeatMs, again.duty, scheduler.duty)
  assert.deepEqual([again.duty.isOnDuty, scheduler.duty.isOnDuty], [true, false])
})

test('a scheduler takes over at its next look when the process with the role history leaves', async () => {
  const { join } = setup()
  const history = join('history', true)
  const scheduler = join('scheduler', false)
  await history.duty.step()
  await scheduler.duty.step()
  assert.equal(scheduler.duty.isOnDuty, false)
  await scheduler.duty.leave()
  await history.duty.leave()
  await scheduler.duty.step()
  assert.equal(scheduler.duty.isOnDuty, true)
})

test('a scheduler leaves folding to a second process with the role history when the first one dies', async () => {
  const { join, run } = setup()
  const [first, second] = [join('first', true), join('second', true)]
  const scheduler = join('scheduler', false)
  await first.duty.step()
  await run(2 * historyTermMs, second.duty, scheduler.duty)
  assert.equal(scheduler.duty.isOnDuty, false)
})
