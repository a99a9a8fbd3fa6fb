// How many places of a worker each tenant may take while several tenants have jobs. Two rules hold at once:
//
// 1. The last tenth is for tenants that have little in flight: a tenant may take places of it while it has at most a
//    quarter as many places as are left free. However many large tenants there are, a small one finds room.
// 2. Calls and commands that last have at most half of all places, and of this half a tenant has at most as much as it leaves free: a
//    quarter when it is the only one with such calls. Nothing tells in advance whether a call will last. So each call
//    counts as one that may, unless the tenant has shown otherwise: for each of its calls that ended within 10 s, one
//    more runs without being counted. A tenant whose calls end gets more places as they do; one whose calls hang stays
//    at its quarter. The more calls of a tenant have lasted already, the less its quick ones count.
//
// A tenant with nothing in flight may always take a free place.

/** A call that has run for longer has lasted; ends of other calls count for as long. */
export const longMs = 10_000

/** The executions of a tenant at a worker. */
export interface TenantLoad {
  inFlight: number
  /** The ones that have run for longer than `longMs`. */
  long: number
  /** Calls that ended within `longMs` of their claim, during the last `longMs`. */
  endedQuickly: number
}

export interface WorkerPlaces {
  capacity: number
  /** Places that are not in use. */
  free: number
  /** Whether the second rule holds. Default true; `why` looks at each rule by itself. */
  limitsLong?: boolean
}

/** Places of a worker that no tenant alone may take: a tenth, at least one, and none when there is only one place. */
export function reservedOf(capacity: number): number {
  return Math.min(capacity - 1, Math.max(1, Math.floor(capacity / 10)))
}

/** The most places that calls of one tenant may have when they last: a quarter, at least one. */
export function longMaxOf(capacity: number): number {
  return Math.max(1, Math.floor(capacity / 4))
}

/** In the last tenth a tenant may have one place for so many that stay free. */
const reserveDivisor = 4

const nothing: TenantLoad = { inFlight: 0, long: 0, endedQuickly: 0 }

/** The rooms of all tenants at one moment. `take` keeps them up to date while places are handed out. */
export class WorkerShares {
  readonly #places: WorkerPlaces
  readonly #reserved: number
  readonly #longMax: number
  readonly #tenants: Map<string, TenantLoad>
  #free: number
  /** Places of calls that may last. A tenant that has more than its quarter counts with a quarter: see `roomOf`. */
  #unproven = 0

  /** `tenants`: the loads are not changed. */
  constructor(places: WorkerPlaces, tenants: Iterable<readonly [string, TenantLoad]>) {
    this.#places = places
    this.#reserved = reservedOf(places.capacity)
    this.#longMax = longMaxOf(places.capacity)
    this.#free = places.free
    this.#tenants = new Map(tenants)
    for (const load of this.#tenants.values()) this.#unproven += this.#countedOf(load)
  }

  /** How many more places this tenant may take now. */
  roomOf(tenantId: string): number {
    const load = this.#tenants.get(tenantId) ?? nothing
    const room = Math.max(0, Math.min(this.#roomInAll(load), this.#roomOfLong(load)))
    return load.inFlight === 0 && this.#free > 0 ? Math.max(1, room) : room
  }

  /** Takes so many places for this tenant. */
  take(tenantId: string, count: number): void {
    const load = this.#tenants.get(tenantId) ?? nothing
    const taken = { ...load, inFlight: load.inFlight + count }
    this.#tenants.set(tenantId, taken)
    this.#free -= count
    this.#unproven += this.#countedOf(taken) - this.#countedOf(load)
  }

  /** The first rule. */
  #roomInAll({ inFlight }: TenantLoad): number {
    const inReserve = Math.floor((this.#free - reserveDivisor * inFlight) / (reserveDivisor + 1))
    return Math.max(this.#free - this.#reserved, inReserve)
  }

  /** The second rule. */
  #roomOfLong(load: TenantLoad): number {
    if (this.#places.limitsLong === false) return Number.POSITIVE_INFINITY
    const credit = this.#creditOf(load) - (load.inFlight - load.long)
    const free = 2 * this.#longMax - this.#unproven - unprovenOf(load, this.#creditOf(load))
    return Math.max(0, credit) + Math.max(0, Math.floor(free / 2))
  }

  /** Quick ends that count: fewer, the more calls have lasted; none from a quarter on. */
  #creditOf({ endedQuickly, long }: TenantLoad): number {
    return Math.floor(endedQuickly * Math.max(0, 1 - long / this.#longMax))
  }

  // Tenants that were alone before, or whose calls were quick before, may have more than a quarter. If all of it were
  // counted, the half would be used up, and tenants without quick ends would have one place each.
  #countedOf(load: TenantLoad): number {
    return Math.min(this.#longMax, unprovenOf(load, this.#creditOf(load)))
  }
}

/** The calls of a tenant that last or may last. */
function unprovenOf({ inFlight, long }: TenantLoad, credit: number): number {
  return long + Math.max(0, inFlight - long - credit)
}
