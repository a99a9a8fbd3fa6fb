// The room of a tenant under its limits, in memory. Counted as in the store on PostgreSQL: a count stands for a while, and
// draws since add to it.
import type { StorageRoom } from '../../src/domain/history/log.ts'
import { storedBytesOf } from '../../src/domain/tenants/storage.ts'
import type { StorageDraw, StorageDrawn, TenantRoom, WaitingRoom } from '../../src/ports/tenant-room.ts'
import type { MemoryArtifacts } from './artifacts.ts'
import type { MemoryStore } from './store.ts'
import type { MemoryTenants } from './tenants.ts'

const ageMsMax = 600_000
const shownMsMax = 5_000
const refusingMsMin = 100

interface Count {
  bytes: number
  drawn: number
  at: number
}

interface Parts {
  tenants: MemoryTenants
  artifacts: MemoryArtifacts
}

export class MemoryTenantRoom implements TenantRoom {
  readonly #store: MemoryStore
  readonly #parts: Parts
  readonly #counts = new Map<string, Count>()

  constructor(store: MemoryStore, parts: Parts) {
    this.#store = store
    this.#parts = parts
  }

  async waitingRoom(tenantIds: readonly string[]): Promise<ReadonlyMap<string, WaitingRoom>> {
    const rooms = new Map<string, WaitingRoom>()
    for (const tenantId of tenantIds) {
      const waitingMax = this.#parts.tenants.tierOf(tenantId)?.waitingExecutionsMax ?? null
      if (waitingMax === null) continue
      const waiting = this.#waitingOf(tenantId)
      rooms.set(tenantId, { waitingMax, waiting, room: Math.max(0, waitingMax - waiting) })
    }
    return rooms
  }

  async countWaiting(tenantId: string): Promise<number> {
    return this.#waitingOf(tenantId)
  }

  async drawStorage({ tenantId, limit, bytesMin, bytesMax }: StorageDraw): Promise<StorageDrawn> {
    const now = this.#store.now()
    const before = this.#counts.get(tenantId)
    const wants = before === undefined || now > before.at + ageMsMax
    const isRefused = () => limit - this.#usedOf(tenantId) < bytesMin
    if (wants || (isRefused() && now > before.at + refusingMsMin)) this.#recount(tenantId)
    const used = this.#usedOf(tenantId)
    const granted = limit - used < bytesMin ? 0 : Math.min(limit - used, bytesMax)
    this.#counts.get(tenantId)!.drawn += granted
    return { granted, used }
  }

  async storageUsed(tenantId: string): Promise<number> {
    const count = this.#counts.get(tenantId)
    if (count === undefined || this.#store.now() > count.at + shownMsMax) this.#recount(tenantId)
    return this.#usedOf(tenantId)
  }

  /** For a log. Null: no limit. */
  logRoomOf(tenantId: string): StorageRoom | null {
    const limit = this.#parts.tenants.tierOf(tenantId)?.storageBytesMax ?? null
    if (limit === null) return null
    if (!this.#counts.has(tenantId)) this.#recount(tenantId)
    return { limit, room: limit - this.#usedOf(tenantId) }
  }

  /** By a count of its own. */
  measure(tenantId: string): number {
    return this.#measureWithoutLogs(tenantId) + this.#logBytes(tenantId)
  }

  #recount(tenantId: string): void {
    this.#counts.set(tenantId, {
      bytes: this.#measureWithoutLogs(tenantId),
      drawn: 0,
      at: this.#store.now(),
    })
  }

  #usedOf(tenantId: string): number {
    const { bytes, drawn } = this.#counts.get(tenantId) ?? { bytes: 0, drawn: 0 }
    return bytes + drawn + this.#logBytes(tenantId)
  }

  #measureWithoutLogs(tenantId: string): number {
    const versions = this.#jobsOf(tenantId).flatMap(({ versions: all }) => [...all.values()])
    const waiting = [...this.#pendingOf(tenantId), ...this.#batchedOf(tenantId)]
    const payloads = waiting.map(({ payloadOverride }) => JSON.stringify(payloadOverride) ?? '')
    return (
      this.#parts.artifacts.bytesOf(tenantId) +
      versions.reduce((sum, version) => sum + storedBytesOf(version), 0) +
      payloads.reduce((sum, payload) => sum + Buffer.byteLength(payload), 0)
    )
  }

  #logBytes(tenantId: string): number {
    return [...this.#store.logs.values()]
      .flatMap((attempts) => [...attempts.values()])
      .reduce((sum, row) => sum + (row.tenantId === tenantId ? row.stored : 0), 0)
  }

  #waitingOf(tenantId: string): number {
    return this.#pendingOf(tenantId).length + this.#batchedOf(tenantId).length
  }

  #pendingOf(tenantId: string) {
    const isPending = (state: string) => state === 'ready' || state === 'waiting'
    return [...this.#store.live.values()].filter((row) => row.tenantId === tenantId && isPending(row.state))
  }

  #batchedOf(tenantId: string) {
    return [...this.#store.batches.values()]
      .filter(({ workerId }) => workerId === null)
      .flatMap(({ entries }) => entries)
      .filter(({ jobId }) => this.#store.jobs.get(jobId)!.tenantId === tenantId)
  }

  #jobsOf(tenantId: string) {
    return [...this.#store.jobs.values()].filter((job) => job.tenantId === tenantId)
  }
}
