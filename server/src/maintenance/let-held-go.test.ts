import assert from 'node:assert/strict'
import test from 'node:test'
import type { SettledAttempt } from '../domain/queue/attempt.ts'
import type { LetGo } from '../ports/execution-budgets.ts'
import { HeldBackReleaser } from './let-held-go.ts'

/** Answers of the store, in turn; with none left nothing waits. */
function setup({ letGo = [], skipped = [] }: { letGo?: LetGo[]; skipped?: number[] }) {
  const calls: string[] = []
  const skip = { outcome: 'skipped', isFinal: true } as SettledAttempt
  const releaser = new HeldBackReleaser({
    executionBudgets: {
      async letGo({ after }) {
        calls.push(`after ${after}`)
        return letGo.shift() ?? { ready: 0, next: null, againInMs: null }
      },
      skipExpired: async () => new Array<SettledAttempt>(skipped.shift() ?? 0).fill(skip),
    },
    onReady: () => void calls.push('ready'),
    onSkipped: () => void calls.push('skipped'),
  })
  return { releaser, calls }
}

test('without anything that waits there is nothing to do', async () => {
  const { releaser, calls } = setup({})
  assert.equal(await releaser.step(), 'idle')
  assert.deepEqual(calls, ['after null'])
})

test('claimers are woken when something was let go, and the wait is to the next budget', async () => {
  const { releaser, calls } = setup({ letGo: [{ ready: 3, next: null, againInMs: 600 }] })
  assert.equal(await releaser.step(), 600)
  assert.deepEqual(calls, ['after null', 'ready'])
})

test('the wait is bounded both ways, so that fast tiers go together and a new tier is seen', async () => {
  const waits = [6, 0, 60_000].map(async (againInMs) => {
    const { releaser } = setup({ letGo: [{ ready: 0, next: null, againInMs }] })
    return releaser.step()
  })
  assert.deepEqual(await Promise.all(waits), [50, 50, 1_000])
})

test('a round goes on behind the last tenant, and waits for the first of all its tenants', async () => {
  const { releaser, calls } = setup({
    letGo: [
      { ready: 0, next: 'b', againInMs: 200 },
      { ready: 0, next: null, againInMs: 900 },
    ],
  })
  assert.equal(await releaser.step(), 'more')
  assert.equal(await releaser.step(), 200)
  assert.equal(await releaser.step(), 'idle')
  assert.deepEqual(calls, ['after null', 'after b', 'after null'])
})

test('skipped slots wake the loops that waited for their executions, and a full page is followed by another', async () => {
  const waits = { ready: 0, next: null, againInMs: 200 }
  const { releaser, calls } = setup({ letGo: [waits, waits], skipped: [500, 2] })
  assert.equal(await releaser.step(), 'more')
  assert.equal(await releaser.step(), 200)
  assert.equal(await releaser.step(), 'idle')
  assert.deepEqual(calls, ['after null', 'skipped', 'after null', 'skipped', 'after null'])
})
