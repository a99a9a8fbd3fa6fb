// Claiming in memory: whole batches while they fit, then single executions out of the next.
import { fitToRoom } from '../../src/domain/queue/claim-room.ts'
import { sharedLane } from '../../src/domain/queue/lane.ts'
import { suspectHost } from '../../src/domain/queue/route.ts'
import type {
  Claimed,
  ClaimedBatch,
  ClaimedLive,
  ClaimOrder,
  Definition,
  DefinitionKey,
} from '../../src/ports/queue.ts'
import { deadlinesOf } from './deadlines.ts'
import { leaveBatch } from './record-attempt.ts'
import type { BatchEntry, BatchRow, LeaseRow, LiveRow } from './rows.ts'
import { compareText } from './sorted-set.ts'
import type { MemoryStore } from './store.ts'

export function claim(store: MemoryStore, order: ClaimOrder): Claimed {
  if (order.withinCapacity !== true) return claimAll(store, order)
  const lease = leaseOf(store, order.workerId)
  const room = lease.capacity - heldCount(lease)
  return room <= 0 ? { batches: [], live: [], isFull: true } : claimAll(store, fitToRoom(order, room))
}

/** Executions that a worker holds, in batches and alone. */
export function heldCount({ batches, live }: LeaseRow): number {
  return [...batches].reduce((sum, { entries }) => sum + entries.length, live.size)
}

function claimAll(store: MemoryStore, order: ClaimOrder): Claimed {
  const taken: Claimed = { batches: [], live: [] }
  for (const { lane, count } of order.lanes) claimLane(store, order, { lane, count }, taken)
  for (const { host, count } of order.hosts) {
    for (const row of store.claimable.readyFor(order.routes, host, count))
      taken.live.push(claimLive(store, row, leaseOf(store, order.workerId)))
  }
  return taken
}

function claimLane(
  store: MemoryStore,
  { workerId, routes, batchesMax, divides = true, singles = false }: ClaimOrder,
  { lane, count }: { lane: string; count: number },
  taken: Claimed,
): void {
  const batches = store.claimable.batchesOf(routes, lane, Math.min(batchesMax, count))
  const live = store.claimable.liveOf(routes, lane, count)
  let free = count
  while (free > 0) {
    const batch = batches[0]
    const row = live[0]
    if (singles && batch !== undefined && (row === undefined || batch.rank <= row.rank)) return
    if (batch !== undefined && (row === undefined || goesFirst(batch, row))) {
      const lease = leaseOf(store, workerId)
      if (batch.entries.length > free) {
        if (!divides && free < count) return
        const leaving = batch.entries.splice(0, free)
        for (const entry of leaving) taken.live.push(claimOut(store, leaveBatch(store, batch, entry), lease))
        return
      }
      store.holdBatch(batch, lease)
      taken.batches.push(claimedBatch(batch))
      free -= batch.entries.length
      batches.shift()
    } else if (row !== undefined) {
      taken.live.push(claimLive(store, row, leaseOf(store, workerId)))
      free -= 1
      live.shift()
    } else return
  }
}

/** The rank from which on somebody in the shared lane goes first, but for these batches; infinity: nobody waits there. */
export function sharedUpTo(
  { claimable }: MemoryStore,
  route: string,
  except: ReadonlySet<string> = new Set(),
): number {
  const batch = claimable
    .batchesOf([route], sharedLane, except.size + 1)
    .find(({ batchId }) => !except.has(batchId))
  const [row] = claimable.liveOf([route], sharedLane, 1)
  return Math.min(batch?.rank ?? Infinity, row?.rank ?? Infinity)
}

/** Taken as it was made, with its definition: see `DirectDispatch`. */
export function takeLive(store: MemoryStore, row: LiveRow, lease: LeaseRow): ClaimedLive {
  return withDefinition(store, claimLive(store, row, lease))
}

export function takeBatch(store: MemoryStore, batch: BatchRow, lease: LeaseRow): ClaimedBatch {
  store.holdBatch(batch, lease)
  return claimedBatch(batch)
}

export function withDefinition(store: MemoryStore, one: ClaimedLive): ClaimedLive {
  const definition = definitionOf(store, one)
  return definition === null ? one : { ...one, definition }
}

export function definitionOf(store: MemoryStore, { jobId, version }: DefinitionKey): Definition | null {
  const found = store.jobs.get(jobId)?.versions.get(version)
  if (found === undefined) return null
  const { tenantId, name, execution, retryPolicy, priority, jitterSeconds } = found
  return { jobId, version, tenantId, name, execution, retryPolicy, priority, jitterSeconds }
}

function goesFirst(batch: BatchRow, row: LiveRow): boolean {
  return (batch.rank - row.rank || compareText(batch.batchId, row.executionId)) < 0
}

// As PostgreSQL's foreign key has it: a claim in the name of a worker that is gone is an error.
function leaseOf(store: MemoryStore, workerId: string): LeaseRow {
  const lease = store.leases.get(workerId)
  if (lease === undefined) throw new Error(`worker ${workerId} has no lease`)
  return lease
}

function claimLive(store: MemoryStore, row: LiveRow, { workerId }: LeaseRow): ClaimedLive {
  const next = { fence: row.fence + 1, attempt: row.attempt + 1, startedAt: store.now() }
  store.changeLive(row, { state: 'running', workerId, ...next, ...deadlinesOf(store, row) })
  return claimedLive(row)
}

function claimOut(store: MemoryStore, row: LiveRow, { workerId }: LeaseRow): ClaimedLive {
  const first = { fence: 1, attempt: 1, startedAt: store.now() }
  Object.assign(row, { state: 'running', workerId, ...first, ...deadlinesOf(store, row) })
  store.addLive(row)
  return claimedLive(row)
}

function claimedBatch(batch: BatchRow): ClaimedBatch {
  const { batchId, fence, lane, priority, enqueuedAt, rank, kind, entries } = batch
  return {
    batchId,
    fence,
    lane,
    priority,
    enqueuedAt,
    rank,
    kind,
    positions: entries.map(({ position }) => position),
    jobIds: entries.map(({ jobId }) => jobId),
    versions: entries.map(({ version }) => version),
    slots: entries.map(({ slot }) => slot),
    payloads: payloadsOf(entries),
  }
}

/** By position. A batch has them of all its executions or of none. */
function payloadsOf(entries: readonly BatchEntry[]): unknown[] | null {
  if (!entries.some((entry) => 'payloadOverride' in entry)) return null
  const payloads: unknown[] = []
  for (const { position, payloadOverride } of entries) payloads[position] = payloadOverride
  return payloads
}

function claimedLive(row: LiveRow): ClaimedLive {
  const { executionId, fence, lane, rank, enqueuedAt, jobId, version, kind, slot, attempt, losses } = row
  return {
    executionId,
    fence,
    lane,
    rank,
    enqueuedAt,
    jobId,
    version,
    kind,
    slot,
    attempt,
    losses,
    ...('payloadOverride' in row ? { payloadOverride: row.payloadOverride } : {}),
    idempotencyKey: row.idempotencyKey,
    ...('checkpoint' in row ? { checkpoint: row.checkpoint } : {}),
    totalDeadline: row.totalDeadline,
    suspect: row.host === suspectHost,
    runId: row.runId,
  }
}
