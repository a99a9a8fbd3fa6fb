import assert from 'node:assert/strict'
import test from 'node:test'
import { historyDaysMax } from '../domain/tenants/tenant.ts'
import { pruneHistory } from './prune-history.ts'

test('numbers and logs that no history reaches are pruned, and again at once while either has more', async () => {
  const asked: number[] = []
  const prune = (numbers: 'more' | 'idle', logs: number) =>
    pruneHistory({
      rollups: { prune: async () => numbers },
      logs: {
        async prune(days) {
          asked.push(days)
          return logs
        },
      },
    })
  assert.deepEqual(
    [await prune('idle', 999), await prune('more', 0), await prune('idle', 1_000)],
    ['idle', 'more', 'more'],
  )
  assert.deepEqual(asked, [historyDaysMax, historyDaysMax, historyDaysMax])
})
