// The worker's port on PostgreSQL.
import type { AttemptEnd } from '../../domain/queue/attempt.ts'
import { fitToRoom } from '../../domain/queue/claim-room.ts'
import type {
  AttemptKey,
  Claimed,
  ClaimedLive,
  ClaimOrder,
  Definition,
  DefinitionKey,
  FinishAnswer,
  FinishedBatch,
  FinishedLive,
  OwnAttempt,
  Queue,
  Waiting,
} from '../../ports/queue.ts'
import { arrayLiteral, textArrayLiteral } from '../connection/array-literal.ts'
import { withPartitions } from '../connection/daily-partitions.ts'
import type { Database } from '../connection/database.ts'
import type { WireOf } from '../sql/item.ts'
import {
  type ClaimRow,
  type DefinitionRow,
  type SingleRow,
  toClaimedBatch,
  toClaimedLive,
  toClaimedSingle,
  toDefinition,
} from './claim-rows.ts'
import { type EndingWire, type MarkWire, toEndingItem } from './ending-item.ts'
import { type HostTurn, HostTurns } from './host-turns.ts'
import { attemptItem, definitionItem, type finishedBatchItem, hostItem, laneItem } from './items.ts'
import * as statements from './queue.sql.ts'
import * as reconcile from './reconcile.sql.ts'

export class PostgresQueue implements Queue {
  readonly #database: Database
  readonly #hostTurns = new HostTurns()

  constructor(database: Database) {
    this.#database = database
  }

  async waiting(routes: readonly string[], limit: number): Promise<Waiting> {
    const behind = this.#hostTurns.of(routes)
    const values = [routes, limit, ...behind.columns]
    const { rows } = await this.#database.query<WaitingRow>(statements.selectWaiting, values)
    const waiting: Waiting = { lanes: [], hosts: [] }
    const last: HostTurn[] = []
    for (const { what, name, weight, route, tenant_id: tenantId } of rows) {
      if (what === 'lane') waiting.lanes.push({ lane: name, weight })
      else if (what === 'host') waiting.hosts.push(name)
      else last.push({ route: route!, tenantId: tenantId!, host: name })
    }
    this.#hostTurns.move(behind, last)
    return waiting
  }

  async claim(order: ClaimOrder): Promise<Claimed> {
    if (order.singles === true) return this.#claimSingles(order)
    if (order.withinCapacity === true) return this.#claimWithinCapacity(order)
    const { rows } = await this.#database.query<ClaimRow>(statements.claimWork, claimValues(order))
    return toClaimed(rows)
  }

  #claimWithinCapacity(order: ClaimOrder): Promise<Claimed> {
    const { workerId } = order
    return this.#database.transaction(async (queries) => {
      // One round trip for both; the second one takes its snapshot when the first one has the lock.
      const [locked, found] = await Promise.all([
        queries.query(statements.lockRoomyWorker, [workerId]),
        queries.query<{ room: number }>(statements.selectRoom, [workerId]),
      ])
      const room = found.rows[0]?.room
      if (room === undefined) throw new Error(`worker ${workerId} has no lease`)
      if (locked.count === 0 || room <= 0) return { batches: [], live: [], isFull: true }
      const values = claimValues(fitToRoom(order, room))
      const { rows } = await queries.query<ClaimRow>(statements.claimWork, values, 'last')
      return toClaimed(rows)
    })
  }

  async #claimSingles({ workerId, routes, lanes }: ClaimOrder): Promise<Claimed> {
    const live: ClaimedLive[] = []
    for (const { lane, count } of lanes) {
      const values = [workerId, routes, lane, count]
      const { rows } = await this.#database.query<SingleRow>(statements.claimSingles, values)
      live.push(...rows.map(toClaimedSingle))
    }
    return { batches: [], live }
  }

  async definitions(keys: readonly DefinitionKey[]): Promise<Definition[]> {
    if (keys.length === 0) return []
    const { rows } = await this.#database.query<DefinitionRow>(statements.selectDefinitions, [
      definitionItem.encode(keys),
    ])
    return rows.map(toDefinition)
  }

  async finishBatches(workerId: string, batches: readonly FinishedBatch[]): Promise<FinishAnswer> {
    const succeeded = batches.filter(hasSucceeded)
    const left = new Set(await this.#finishSucceeded(workerId, succeeded))
    const others = batches.filter((one) => left.has(one.batchId) || !succeeded.includes(one))
    if (others.length === 0) return toAnswer([])
    const report = others.map(
      ({ batchId, fence, endings }): WireOf<typeof finishedBatchItem> => ({
        b: batchId,
        f: fence,
        n: endings.length,
        r: endings.map(({ position, ending }) => ({ p: position, ...toEndingItem(ending) })),
      }),
    )
    const values = [workerId, JSON.stringify(report)]
    const { rows } = await withPartitions(this.#database, 'attempts', 'today', () =>
      this.#database.query<FinishRow>(statements.finishBatches, values),
    )
    return toAnswer(rows)
  }

  /** Returns the batches that must be looked at more closely: nothing of them is written. */
  async #finishSucceeded(workerId: string, batches: readonly FinishedBatch[]): Promise<string[]> {
    if (batches.length === 0) return []
    const ends: { position: number; end: AttemptEnd }[] = []
    const upTo: number[] = []
    for (const { endings } of batches) {
      for (const { position, ending } of endings)
        ends.push({ position, end: (ending as { end: AttemptEnd }).end })
      upTo.push(ends.length)
    }
    const values = [
      workerId,
      arrayLiteral(batches, ({ batchId }) => batchId),
      arrayLiteral(batches, ({ fence }) => fence),
      // Places in arrays of PostgreSQL count from 1.
      arrayLiteral(
        batches.map(({ endings }, index) => upTo[index]! - endings.length + 1),
        String,
      ),
      arrayLiteral(upTo, String),
      arrayLiteral(ends, ({ position }) => position),
      arrayLiteral(ends, ({ end }) => end.startedAt ?? 'NULL'),
      arrayLiteral(ends, ({ end }) => end.finishedAt),
      arrayLiteral(ends, ({ end }) => (end.durationMs === null ? 'NULL' : Math.round(end.durationMs))),
      arrayLiteral(ends, ({ end }) => end.httpStatus ?? 'NULL'),
      textArrayLiteral(ends, ({ end }) => end.preview),
      ...usageLiterals(ends),
    ]
    const { rows } = await withPartitions(this.#database, 'attempts', 'today', () =>
      this.#database.query<{ batch_id: string }>(statements.finishSucceeded, values),
    )
    return rows.map((row) => row.batch_id)
  }

  async finishLive(workerId: string, ends: readonly FinishedLive[]): Promise<FinishAnswer> {
    if (ends.length === 0) return toAnswer([])
    const report = ends.map(({ executionId, fence, ending }): MarkWire & EndingWire => ({
      e: executionId,
      f: fence,
      ...toEndingItem(ending),
    }))
    const values = [JSON.stringify(report), workerId]
    const { rows } = await withPartitions(this.#database, 'attempts', 'today', () =>
      this.#database.query<FinishRow>(statements.finishLive, values),
    )
    return toAnswer(rows)
  }

  async findCancelled(workerId: string): Promise<string[]> {
    const { rows } = await this.#database.query<{ execution_id: string }>(statements.selectCancelled, [
      workerId,
    ])
    return rows.map((row) => row.execution_id)
  }

  async findOwn(workerId: string, attempts: readonly AttemptKey[]): Promise<OwnAttempt[]> {
    const { rows } = await this.#database.query<OwnRow>(reconcile.findOwn, [
      workerId,
      attemptItem.encode(attempts),
    ])
    return rows.flatMap(({ execution_id: executionId, status }) =>
      status === null ? [] : [{ executionId, status }],
    )
  }

  async releaseUnknown(workerId: string, known: readonly string[]): Promise<number> {
    return withPartitions(this.#database, 'attempts', 'today', () =>
      this.#database.transaction(async (queries) => {
        const batches = await queries.query(reconcile.returnBatches, [workerId, known])
        const live = await queries.query(reconcile.returnLive, [workerId, known])
        return batches.count + live.count
      }),
    )
  }
}

function claimValues(order: ClaimOrder): unknown[] {
  const { workerId, routes, lanes, hosts, batchesMax, divides = true } = order
  return [workerId, routes, laneItem.encode(lanes), hostItem.encode(hosts), batchesMax, divides]
}

function toClaimed(rows: readonly ClaimRow[]): Claimed {
  const claimed: Claimed = { batches: [], live: [] }
  for (const row of rows) {
    if (row.positions === null) claimed.live.push(toClaimedLive(row))
    else claimed.batches.push(toClaimedBatch(row))
  }
  return claimed
}

const usageParts = ['cpuMs', 'bytesSent', 'bytesReceived'] as const

/** Calls have no CPU time, and commands no bytes: such a list costs nothing. */
function usageLiterals(ends: readonly { end: AttemptEnd }[]): (string | null)[] {
  return usageParts.map((part) =>
    ends.some(({ end }) => end.usage?.[part] !== undefined)
      ? arrayLiteral(ends, ({ end }) => end.usage?.[part] ?? 'NULL')
      : null,
  )
}

/** All of it, so that there is nothing to say but when and how. */
function hasSucceeded({ endings }: FinishedBatch): boolean {
  return (
    endings.length > 0 &&
    endings.every(({ ending }) => ending.kind === 'ended' && ending.end.outcome === 'succeeded')
  )
}

function toAnswer(rows: readonly FinishRow[]): FinishAnswer {
  const answer: FinishAnswer = { missing: [], cancelled: [], left: [] }
  for (const { id, what } of rows) answer[what].push(id)
  return answer
}

interface WaitingRow {
  what: 'lane' | 'host' | 'last host'
  name: string
  weight: number
  /** Of a last host. */
  route: string | null
  tenant_id: string | null
}

/** A batch or an execution that was not finished exactly as reported. */
interface FinishRow {
  id: string
  what: keyof FinishAnswer
}

interface OwnRow {
  execution_id: string
  status: 'recorded' | 'held' | null
}
