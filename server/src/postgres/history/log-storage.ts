// The storage of the tenants with a limit that one append writes logs for: the room of each, and the bytes that
// are added. Tenants without a limit never come here.
import type { StorageRoom } from '../../domain/history/log.ts'
import { madeAtOf } from '../../lib/id.ts'
import { toRfc3339 } from '../../lib/time/epoch.ts'
import { readLogBytes, readStorage } from '../access/tenant-room.ts'
import type { Queries } from '../connection/database.ts'
import type { RowOf } from '../sql/item.ts'
import { logDayItem } from './items.ts'
import * as statements from './logs.sql.ts'

export class LogStorage {
  readonly #queries: Queries
  readonly #rooms = new Map<string, StorageRoom>()
  /** By tenant and day. */
  readonly #added = new Map<string, RowOf<typeof logDayItem> & { bytes: number }>()
  readonly #uncounted = new Set<string>()

  constructor(queries: Queries) {
    this.#queries = queries
  }

  async roomOf(tenantId: string, limit: number): Promise<StorageRoom> {
    const known = this.#rooms.get(tenantId)
    if (known !== undefined) return known
    const found = await readStorage(this.#queries, tenantId)
    if (found === null || found.is_old) this.#uncounted.add(tenantId)
    const room = { limit, room: limit - (found?.used ?? (await readLogBytes(this.#queries, tenantId))) }
    if (room.room <= 0 && found?.may_recount === true) this.#uncounted.add(tenantId)
    this.#rooms.set(tenantId, room)
    return room
  }

  /** By the day of the execution: logs are pruned by it. */
  add({ tenantId, executionId }: { tenantId: string; executionId: string }, bytes: number): void {
    if (bytes === 0) return
    const day = toRfc3339(madeAtOf(executionId)).slice(0, 10)
    const row = this.#added.get(`${tenantId} ${day}`) ?? { tenantId, day, bytes: 0 }
    row.bytes += bytes
    this.#added.set(`${tenantId} ${day}`, row)
    this.#rooms.get(tenantId)!.room -= bytes
  }

  async write(): Promise<void> {
    if (this.#added.size === 0) return
    await this.#queries.query(statements.addLogBytes, [logDayItem.encode(this.#added.values())])
  }

  /** Tenants whose storage is to be counted once the transaction is over. */
  uncounted(): string[] {
    return [...this.#uncounted]
  }
}
