import assert from 'node:assert/strict'
import test from 'node:test'
import type { EpochMs } from '../lib/time/epoch.ts'
import type { ClaimedBatch } from '../ports/queue.ts'
import type { Prepared } from './prepare.ts'
import { toHeldExecutions } from './to-held-executions.ts'

const context = {
  claimedMs: 0,
  definitions: { get: () => ({}) as Prepared },
  parents: new Map(),
  isIsolated: false,
}

function batch(batchId: string, rank: number): ClaimedBatch {
  const at = rank as EpochMs
  return {
    ...{ batchId, rank: at, enqueuedAt: at, fence: 1, lane: 'shared', priority: 5, kind: 'trigger' },
    ...{ positions: [0, 1], jobIds: ['a', 'a'], versions: [1, 1], slots: [at, at], payloads: null },
  }
}

test('executions of the same rank are held in the order in which they were made, in whichever order they were claimed', () => {
  const ids = [1, 2, 3].map((n) => `00000000-0000-7000-8000-0000000${n}0000`)
  const batches = [batch(ids[2]!, 5), batch(ids[0]!, 5), batch(ids[1]!, 4)]
  const held = toHeldExecutions({ batches, live: [] }, context)
  assert.deepEqual(
    held.map(({ executionId }) => executionId),
    [ids[1], ids[0], ids[2]].flatMap((id) => [id, `${id!.slice(0, -1)}1`]),
  )
})
