// Executions due at the very same moment. A real clock hardly ever makes two such; the clock of a simulation does.
import assert from 'node:assert/strict'
import test from 'node:test'
import { defaultTenantId } from '../../src/domain/tenants/tenant.ts'
import { epochMs } from '../../src/lib/time/epoch.ts'
import type { Operations } from '../../src/ports/operations.ts'
import { openMemoryStore } from '../../testing/memory-store/open-memory-store.ts'
import { createVirtualWorld } from '../virtual-world.ts'
import { openClockedPostgres } from './clocked-postgres.ts'

const now = epochMs(Date.UTC(2026, 2, 29))

test('of two operations that are due at one moment both stores take the older one first', async (t) => {
  const postgres = await openClockedPostgres(t, { version: 18, startAt: now, tenantIds: [] })
  const memory = openMemoryStore({ databaseNow: () => now })
  const { ids } = createVirtualWorld({ startAt: now })
  const [older, newer] = [ids.next(), ids.next()]
  for (const operations of [memory.operations, postgres.ports.operations as Operations]) {
    for (const operationId of [newer, older]) await create(operations, operationId)
    const taken = [await take(operations), await take(operations)]
    assert.deepEqual(taken, [older, newer])
  }
})

async function create(operations: Operations, operationId: string): Promise<void> {
  await operations.create({
    operationId,
    tenantId: defaultTenantId,
    kind: 'pause',
    filter: { status: null, tag: null, q: null },
    options: { reason: null, until: null },
    createdBy: 'tester',
    createdAt: now,
    total: 0,
    totalCapped: false,
  })
}

async function take(operations: Operations): Promise<string | undefined> {
  const taken = await operations.step(async () => ({ done: 0, skipped: 0, after: null, waitMs: 0 }))
  return taken?.operationId
}
