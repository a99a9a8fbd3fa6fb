// The limits that a tenant uses up by writing: bytes of storage and waiting executions. Both are judged from memory: a
// tenant without a limit costs nothing, one with a limit a statement now and then, outside of the transaction of its
// request. See domain/tenants/storage.ts and waiting-estimates.ts.
import { StorageSlices, sliceBytesOf } from '../../domain/tenants/storage.ts'
import type { Tier } from '../../domain/tenants/tenant.ts'
import { WaitingEstimates } from '../../domain/tenants/waiting-estimates.ts'
import { TurnsByKey } from '../../lib/turns-by-key.ts'
import type { StorePorts } from '../../ports/store.ts'
import type { World } from '../../ports/world.ts'
import { ApiError } from '../http/api-error.ts'
import type { Caller } from './auth.ts'
import { RefillNeeded } from './refill-needed.ts'

export interface QuotaDeps extends Pick<World, 'clock'>, Pick<StorePorts, 'tenantRoom'> {}

export class TenantQuotas {
  readonly #deps: QuotaDeps
  readonly #slices = new StorageSlices()
  readonly #waiting = new WaitingEstimates()
  /** Of one tenant one draw and one count at a time: requests that come together need no more. */
  readonly #turns = new TurnsByKey()
  /** By request: bytes drawn for it, so that no other request spends them; 0: there are not so many. */
  readonly #drawn = new WeakMap<Caller, { bytes: number; used: number }>()
  /** By request: the bytes it was charged. The work of a request may be begun anew, and is charged once. */
  readonly #charged = new WeakMap<Caller, number>()
  /** Requests for which the tenant was counted. */
  readonly #counted = new WeakSet<Caller>()
  readonly #admitted = new WeakSet<Caller>()

  constructor(deps: QuotaDeps) {
    this.#deps = deps
  }

  /** In the work of a write, before it writes anything. */
  spendStorage(caller: Caller, bytes: number): void {
    const { tenantId, tier } = caller
    const { storageBytesMax: limit } = tier
    if (limit === null) return
    if (bytes <= (this.#charged.get(caller) ?? 0)) return
    const drawn = this.#drawn.get(caller)
    if ((drawn?.bytes ?? 0) < bytes && !this.#slices.spend({ tenantId, limit, bytes })) {
      if (drawn !== undefined) throw refuseStorage(tier, bytes, drawn.used)
      throw new RefillNeeded(refuseStorage(tier, bytes, null), () => this.#draw(caller, { limit, bytes }))
    }
    this.#charged.set(caller, bytes)
  }

  #draw(caller: Caller, { limit, bytes }: { limit: number; bytes: number }): Promise<void> {
    const { tenantId } = caller
    return this.#turns.run(`storage ${tenantId}`, async () => {
      if (this.#slices.spend({ tenantId, limit, bytes })) {
        this.#drawn.set(caller, { bytes, used: 0 })
        return
      }
      const draw = { tenantId, limit, bytesMin: bytes, bytesMax: bytes + sliceBytesOf(limit) }
      const { granted, used } = await this.#deps.tenantRoom.drawStorage(draw)
      if (granted > 0) this.#slices.add({ tenantId, limit, bytes: granted - bytes })
      this.#drawn.set(caller, { bytes: Math.min(granted, bytes), used })
    })
  }

  /** In the work of a write, before it writes anything. */
  admitWaiting(caller: Caller, more: number): void {
    const { tenantId, tier } = caller
    if (tier.waitingExecutionsMax === null || this.#admitted.has(caller)) return
    const used = this.#waiting.usedOf(tenantId) ?? 0
    const refusal = () => refuseWaiting(tier, more, used)
    const isOld = this.#waiting.isOld(tenantId, more, this.#deps.clock.monotonicMs())
    if (isOld && !this.#counted.has(caller))
      throw new RefillNeeded(refusal(), () => this.#count(caller, more))
    if (this.#waiting.roomOf(tenantId) < more) throw refusal()
    this.#waiting.admit(tenantId, more)
    this.#admitted.add(caller)
  }

  #count(caller: Caller, more: number): Promise<void> {
    const { tenantId } = caller
    return this.#turns.run(`waiting ${tenantId}`, async () => {
      this.#counted.add(caller)
      const nowMs = this.#deps.clock.monotonicMs()
      // Another request of the tenant has counted meanwhile.
      if (!this.#waiting.isOld(tenantId, more, nowMs)) return
      const found = (await this.#deps.tenantRoom.waitingRoom([tenantId])).get(tenantId)
      this.#waiting.note(tenantId, found ?? { waitingMax: null, waiting: 0 }, nowMs)
    })
  }
}

function refuseStorage(tier: Tier, bytes: number, used: number | null): ApiError {
  const limit = `storage_bytes_max, which is ${tier.storageBytesMax} on the tier ${tier.tier}`
  const stores = used === null ? '' : `The tenant stores ${used} bytes; `
  return new ApiError('TIER_LIMIT', `${stores}${bytes} more would be beyond ${limit}.`)
}

function refuseWaiting(tier: Tier, more: number, used: number): ApiError {
  const limit = `waiting_executions_max, which is ${tier.waitingExecutionsMax} on the tier ${tier.tier}`
  const detail = `The tenant has ${used} waiting executions; ${more} more would be beyond ${limit}.`
  return new ApiError('TIER_LIMIT', detail)
}
