import assert from 'node:assert/strict'
import test from 'node:test'
import { setupInFlight } from '../../test/in-flight.ts'
import { sharedLane } from '../domain/queue/lane.ts'
import { serverRoute } from '../domain/queue/route.ts'
import type { ClaimOrder, Queue } from '../ports/queue.ts'
import { Claimer } from './claim.ts'
import { Definitions } from './definitions.ts'
import { TenantLimits } from './tenant-limits.ts'

test('while its scheduler fires a herd, a worker claims one batch of the herd now and then, and all of the shared lane', async () => {
  const { inFlight, world, addLive } = setupInFlight({ capacity: 20_000 })
  const asked: Record<string, number>[] = []
  let isBackpressured = true
  const queue = {
    waiting: async () => ({
      lanes: [
        { lane: sharedLane, weight: 1 },
        { lane: 'herd', weight: 1 },
      ],
      hosts: ['full.example'],
    }),
    async claim({ lanes, hosts, singles = false }: ClaimOrder) {
      const counts = Object.fromEntries(lanes.map(({ lane, count }) => [lane, count]))
      if (!singles) asked.push({ ...counts, hosts: hosts.reduce((sum, { count }) => sum + count, 0) })
      return { batches: [], live: [] }
    },
    releaseUnknown: async () => 0,
  } satisfies Partial<Queue>
  const peers = {
    find: async () => [],
    findCallers: async () => [],
    measure: async () => ({ held: [], waiting: 0 }),
    countRunning: async () => [],
  }
  const claimer = new Claimer({
    clock: world.clock,
    queue: queue as Partial<Queue> as Queue,
    peers,
    graphRuns: { parentsOf: async () => new Map() },
    inFlight,
    definitions: new Definitions({ definitions: async () => [] }, '1.2.3'),
    signer: { load: async () => {} },
    tenantLimits: new TenantLimits({ clock: world.clock, tenants: { workLimits: async () => [] }, peers }),
    routes: async () => [serverRoute],
    isIsolated: false,
    workerId: () => 'worker',
    isBackpressured: () => isBackpressured,
    isDraining: () => false,
    onClaimed() {},
    onClaimDue() {},
  })
  await claimer.claimOnce()
  await world.advance(249)
  await claimer.claimOnce()
  await world.advance(1)
  await claimer.claimOnce()
  addLive('a', 100, 'herd')
  await world.advance(250)
  await claimer.claimOnce()
  isBackpressured = false
  await claimer.claimOnce()
  assert.deepEqual(asked, [
    { [sharedLane]: 100, herd: 100, hosts: 100 },
    { [sharedLane]: 100, hosts: 100 },
    { [sharedLane]: 100, herd: 100, hosts: 100 },
    { [sharedLane]: 150, hosts: 0 },
    { [sharedLane]: 75, herd: 75, hosts: 150 },
  ])
})
